import { randomUUID } from "node:crypto";
import type { Caller, Principal } from "../../../src/agent/caller.js";
import { callersInside } from "../../../src/agent/caller.js";
import { RpcError } from "../../../src/jsonrpc/errors.js";
import type { RequestId } from "../../../src/jsonrpc/message.js";
import { META, readClaim } from "../../../src/mcp/stateless/request.js";
import type { StatelessServer } from "../../../src/mcp/stateless/server.js";
import { openStatelessServer } from "../../../src/mcp/stateless/server.js";
import { type ServedTool, toolsOf } from "../../../src/mcp/tools/sets.js";
import type { McpTool } from "../../../src/mcp/tools/tool.js";
import { Tools } from "../../../src/mcp/tools/tools.js";
import type { Telemetry } from "../../../src/observability/telemetry.js";
import { TaskFiles } from "../../../src/stores/files/tasks.js";
import { Changes } from "../changes.js";
import { MemoryAgent, type MemoryAgentOptions } from "../memory/memoryAgent.js";

type Json = Readonly<Record<string, unknown>>;

export interface AskOptions {
  readonly capabilities?: Json;
  /** The principal of its token; absent for stdio. */
  readonly principal?: string;
  readonly signal?: AbortSignal;
  readonly meta?: Json;
  readonly id?: RequestId;
}

export interface Told {
  readonly method: string;
  readonly params: Json;
}

export interface ClientOptions extends MemoryAgentOptions {
  /** A replacement for the tool `codex`. */
  readonly action?: McpTool["call"];
  readonly telemetry?: Telemetry;
  /** The folder of tasks, if not that of the threads. */
  readonly tasksIn?: string;
  readonly taskAfterMs?: number;
}

export type Answer =
  | { readonly result: Json }
  | { readonly error: { readonly code: number; readonly message: string; readonly data?: unknown } };

export const FORMS = { elicitation: { form: {} } } as const;
export const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } } as const;

/** The `_meta` of every request of this era. */
export function claimMeta(capabilities: Json = FORMS): Json {
  return { [META.protocolVersion]: "2026-07-28", [META.clientCapabilities]: capabilities };
}

/** A client of the era without sessions, connected to the real server without a transport. The server has the scripted engine and a folder of its own. */
export class StatelessClient implements AsyncDisposable {
  readonly agent: MemoryAgent;
  readonly server: StatelessServer;
  /** Notifications, in order. */
  readonly told: Told[] = [];
  readonly #changes = new Changes();

  constructor({ action, tasksIn, telemetry, taskAfterMs = 1_000, ...options }: ClientOptions = {}) {
    this.agent = new MemoryAgent(options);
    this.server = openStatelessServer({
      engine: "scripted",
      tools: new Tools({
        tools: toolsOf(["codex"]).map((tool) => (action ? acting(tool, action) : tool)),
        objection: callersInside,
        open: async () => ({ ...this.agent.open, ...(telemetry && { telemetry }) }),
      }),
      taskAfterMs,
      taskStore: new TaskFiles(tasksIn ?? this.agent.codexHome),
      report: (line) => this.agent.reported.push(line),
    });
  }

  async ask(method: string, params: Json = {}, options: AskOptions = {}): Promise<Answer> {
    const { capabilities, principal, signal = new AbortController().signal, meta = {}, id = randomUUID() } = options;
    const sent = { ...params, _meta: { ...claimMeta(capabilities), ...meta } };
    const caller: Caller | undefined =
      principal === undefined ? undefined : { principal: principal as Principal, scopes: ["call", "read"] };
    const notify = (name: string, told: unknown) => this.#hear({ method: name, params: told as Json });
    const notifyText = (text: string) => this.#hear(JSON.parse(text) as Told);
    const peer = { notify, notifyText, congested: () => undefined };
    try {
      const result = await this.server.answer({ id, method, params: sent, claim: readClaim(sent), signal, caller, peer });
      return { result: result as Json };
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      const { code, message, extra } = error;
      return { error: { code, message, ...(extra === undefined ? {} : { data: extra }) } };
    }
  }

  call(args: Json, options?: AskOptions & { readonly rest?: Json; readonly tool?: string }): Promise<Answer> {
    return this.ask("tools/call", { name: options?.tool ?? "codex", arguments: args, ...options?.rest }, options);
  }

  /** The parameters of every notification of this method. */
  heard(method: string): Json[] {
    return this.told.filter((told) => told.method === method).map(({ params }) => params);
  }

  /** The result of `look`, which is called again after each notification. */
  until<T>(look: () => T | undefined): Promise<T> {
    return this.#changes.until(look);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.leave();
    this.agent.open.interruptAll();
    await this.server.settle();
    await this.agent[Symbol.asyncDispose]();
  }

  #hear(told: Told): void {
    this.told.push(told);
    this.#changes.note();
  }
}

function acting(tool: ServedTool, call: McpTool["call"]): ServedTool {
  return { ...tool, load: async () => ({ ...(await tool.load()), call }) };
}

/** The result of an answer that has one. */
export function resultIn(answer: Answer): Json {
  if ("result" in answer) return answer.result;
  throw new Error(`an error was answered: ${JSON.stringify(answer.error)}`);
}
