import { methodNotFound, RPC, RpcError } from "../../jsonrpc/errors.js";
import { isFields } from "../../lib/fields.js";
import { type Deferred, deferred } from "../../lib/promises.js";
import { VERSION } from "../../lib/version.js";
import type { TaskStore } from "../../tasks/taskStore.js";
import { STATELESS_REVISIONS } from "../revisions.js";
import type { Tools } from "../tools/tools.js";
import { AgentCalls } from "./agentCalls.js";
import { EVENTS_EXTENSION, META, type StatelessMethod, type StatelessRequest, TASKS_EXTENSION } from "./request.js";
import { listen, Subscriptions, taskNews } from "./subscriptions.js";
import { taskMethods } from "./taskMethods.js";
import { TaskRegistry } from "./taskRegistry.js";

const SERVER_INFO = { name: "codex-mcp-server", title: "Codex", version: VERSION };

export interface StatelessServerOptions {
  /** The methods that a client may call. */
  readonly methods: Readonly<Record<string, StatelessMethod>>;
  /** Whether an unknown method exists in sessions. */
  readonly isOfSessions?: ((method: string) => Promise<boolean>) | undefined;
  /** Called when the server starts to shut down: subscriptions end. */
  readonly leaving?: () => void;
  /** Resolves when work without a request has ended. */
  readonly settled?: () => Promise<void>;
}

/** MCP without sessions (2026-07-28): every request carries everything that is needed to answer it. */
export class StatelessServer {
  #serving = 0;
  #idle: Deferred<void> | undefined;

  readonly #options: StatelessServerOptions;

  constructor(options: StatelessServerOptions) {
    this.#options = options;
  }

  async answer(request: StatelessRequest): Promise<unknown> {
    const { methods } = this.#options;
    const method = Object.hasOwn(methods, request.method) ? methods[request.method] : undefined;
    if (!method) throw await this.#unknown(request.method);
    this.#serving++;
    try {
      const result = await method(request);
      const meta = isFields(result["_meta"]) ? result["_meta"] : {};
      return { resultType: "complete", ...result, _meta: { ...meta, [META.serverInfo]: SERVER_INFO } };
    } finally {
      if (--this.#serving === 0) this.#becomeIdle();
    }
  }

  async #unknown(method: string): Promise<RpcError> {
    // All MCP method names but two contain a slash, and none of the session-only methods does.
    const isMeant = !method.includes("/") && (await this.#options.isOfSessions?.(method));
    if (!isMeant) return methodNotFound(method);
    const remedy = "begin one with `initialize` (2025-11-25 or earlier), and leave the protocol version out of the request's `_meta`";
    return new RpcError(RPC.methodNotFound, `method not found: ${method} is served in sessions only: ${remedy}`, { method });
  }

  /** Ends subscriptions; calls go on. */
  leave(): void {
    this.#options.leaving?.();
  }

  /** Resolves when no request is in progress. */
  idle(): Promise<void> {
    if (this.#serving === 0) return Promise.resolve();
    this.#idle ??= deferred<void>();
    return this.#idle.promise;
  }

  #becomeIdle(): void {
    this.#idle?.resolve();
    this.#idle = undefined;
  }

  /** Resolves when no task is running and the end of each is stored. */
  async settle(): Promise<void> {
    await this.#options.settled?.();
  }
}

export interface StatelessParts {
  readonly tools: Tools;
  readonly engine: string;
  readonly taskStore: TaskStore;
  /** How long a call lasts before it becomes a task. */
  readonly taskAfterMs: number;
  readonly isOfSessions?: StatelessServerOptions["isOfSessions"];
  /** Writes to the server's own output. */
  readonly report: (line: string) => void;
}

/** For the tool set that behaves as Codex 0.92.0 did. */
const TWO_TOOLS = "`codex` starts a coding agent on a task and returns its answer with a threadId; `codex-reply` continues that thread.";

/** The stateless era. `ping`, `logging/setLevel` and others do not exist in it and get "method not found". */
export function openStatelessServer(parts: StatelessParts): StatelessServer {
  const subscriptions = new Subscriptions();
  const changed = (id: string, form: Readonly<Record<string, unknown>>) => subscriptions.tell(taskNews(id, form));
  const tasks = new TaskRegistry({ store: parts.taskStore, changed, report: parts.report });
  const calls = new AgentCalls({ tools: parts.tools, tasks, taskAfterMs: parts.taskAfterMs });
  return new StatelessServer({
    methods: {
      "server/discover": discover({ engine: parts.engine, tools: parts.tools }),
      "tools/list": listTools(parts.tools),
      "tools/call": (request) => calls.call(request),
      "subscriptions/listen": listen({ subscriptions, lists: ["toolsListChanged"], tasks }),
      ...taskMethods(tasks),
    },
    isOfSessions: parts.tools.asRecorded ? undefined : parts.isOfSessions,
    leaving: () => subscriptions.close(),
    settled: () => tasks.settle(),
  });
}

/** How long a client may cache a response. The tools do not change while the server runs. A caller inside a turn has other tools. */
const DISCOVERY_TTL_MS = 3_600_000;
const LIST_TTL_MS = 300_000;

function discover({ engine, tools }: Pick<StatelessParts, "engine" | "tools">): StatelessMethod {
  return async ({ caller }) => ({
    supportedVersions: STATELESS_REVISIONS,
    capabilities: { tools: { listChanged: true }, logging: {}, extensions: { [TASKS_EXTENSION]: {}, [EVENTS_EXTENSION]: {} } },
    instructions: tools.instructionsFor(caller) ?? TWO_TOOLS,
    ttlMs: DISCOVERY_TTL_MS,
    cacheScope: caller?.inside ? "private" : "public",
    _meta: { "codex-mcpd/engine": engine },
  });
}

export function listTools(tools: Pick<Tools, "listFor">): StatelessMethod {
  return async ({ caller }) => ({
    tools: tools.listFor(caller),
    ttlMs: LIST_TTL_MS,
    cacheScope: caller?.inside ? "private" : "public",
  });
}
