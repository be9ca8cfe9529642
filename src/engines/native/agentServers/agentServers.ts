import { createHash } from "node:crypto";
import type { TurnMark } from "../../../exec/nesting/turnMark.js";
import { describe } from "../../../lib/errors.js";
import { isFields, isNestedTooDeeply, MOST_LEVELS } from "../../../lib/fields.js";
import { endsWithin, orAborted } from "../../../lib/promises.js";
import type { ThreadEvent } from "../../../threads/events.js";
import type { McpServerStatus } from "../../../threads/items.js";
import type { McpServerSettings } from "../../../threads/settings.js";
import type { DeclaredTool, Tool } from "../tools/tool.js";
import { AgentServer } from "./agentServer.js";
import { McpServerNotStarted, McpStartCancelled } from "./failures.js";
import type { ServerHost } from "./openLink.js";
import { type AskElicitation, Questions } from "./questions.js";
import { resourceTools } from "./resourceTools.js";
import type { ListedTool } from "./serverAnswers.js";
import { mcpTool } from "./serverTool.js";

export interface AgentServersOptions {
  readonly host: ServerHost;
  /** Tells servers that they run inside a turn. Absent: the strictest mark. */
  readonly mark?: TurnMark | undefined;
  /** Closes all of them, like `close`. */
  readonly signal?: AbortSignal;
  /** Receives the servers' questions; without it they are declined. */
  readonly ask?: AskElicitation;
  /** Shortens a long output for the model. */
  readonly shorten: (text: string) => string;
  /** Only tools that declare themselves read-only are offered. */
  readonly readingOnly?: boolean;
  /** Errors have the wording of Codex 0.92.0. */
  readonly asRecorded?: boolean;
  /** How long after opening a request waits for servers that are still starting. As recorded, it waits until all have started or failed. */
  readonly patienceMs?: number;
}

/** Most servers are up by then; a hanging one delays the thread's first request by no more than this. */
const DEFAULT_PATIENCE_MS = 2_000;

/** Starts all servers in parallel, in the background. */
export function openAgentServers(settings: readonly McpServerSettings[], options: AgentServersOptions): AgentServers {
  const servers = new AgentServers(settings, options);
  servers.start();
  return servers;
}

/** The agent's own MCP servers in one thread, and their tools for its model. */
export class AgentServers implements AsyncDisposable {
  /** Tools to list and read the servers' resources. */
  readonly resources: readonly DeclaredTool[];
  readonly #servers: readonly AgentServer[];
  readonly #options: AgentServersOptions;
  readonly #news: StartupNews;
  readonly #names = new ToolNames();
  readonly #starting = new Map<AgentServer, Promise<void>>();
  #tools: readonly DeclaredTool[] = [];
  #patientUntil = 0;
  #closed: Promise<void> | undefined;

  constructor(settings: readonly McpServerSettings[], options: AgentServersOptions) {
    const { host, mark, ask, shorten, asRecorded = false } = options;
    this.#options = options;
    this.#servers = settings.map((one) => new AgentServer(one, { host, mark, asRecorded, questions: new Questions(ask) }));
    this.#news = new StartupNews(settings.map(({ name }) => name));
    this.resources = resourceTools({ servers: this.#servers, shorten });
  }

  start(): void {
    this.#patientUntil = performance.now() + (this.#options.patienceMs ?? DEFAULT_PATIENCE_MS);
    for (const server of this.#servers) this.#starting.set(server, this.#bringUp(server));
    this.#options.signal?.addEventListener("abort", this.#end, { once: true });
    if (this.#options.signal?.aborted) this.#end();
  }

  /** Start-up events since the last call: each server's states, and at the end one summary. */
  takeStartupEvents(): readonly McpStartupNews[] {
    return this.#news.take();
  }

  /** The tools of the running servers, by name; the same array as long as nothing was added. Waits for the other servers only at first. */
  async tools({ signal }: { readonly signal: AbortSignal }): Promise<readonly DeclaredTool[]> {
    await orAborted(this.#startedInTime(), signal);
    return this.#tools;
  }

  /** The tool with this name; if its server is still starting, waits for that server. */
  async find(name: string, { signal }: { readonly signal: AbortSignal }): Promise<Tool | undefined> {
    const awaited = [...this.#starting].filter(([server]) => name.startsWith(namePrefix(server.name)));
    await orAborted(Promise.all(awaited.map(([, started]) => started)), signal);
    return [...this.resources, ...this.#tools].find((tool) => tool.name === name);
  }

  /** Closes all of them, including those that are still starting. Resolves when all processes and connections are closed. */
  async close(): Promise<void> {
    this.#end();
    await this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  readonly #end = (): void => {
    this.#closed ??= this.#closeAll();
  };

  async #closeAll(): Promise<void> {
    this.#options.signal?.removeEventListener("abort", this.#end);
    await Promise.all(this.#servers.map((server) => server.close()));
    await this.#allStarted();
  }

  async #startedInTime(): Promise<void> {
    // Each server has its own time limit for the start.
    if (this.#options.asRecorded) return this.#allStarted();
    const patienceMs = this.#patientUntil - performance.now();
    if (patienceMs > 0) await endsWithin(patienceMs, this.#allStarted());
  }

  async #allStarted(): Promise<void> {
    await Promise.all(this.#starting.values());
  }

  async #bringUp(server: AgentServer): Promise<void> {
    try {
      await server.start();
      this.#addTools(server);
      this.#news.ready(server.name);
    } catch (error) {
      this.#news.failed(server.name, error);
    } finally {
      this.#starting.delete(server);
    }
  }

  #addTools(server: AgentServer): void {
    const { readingOnly = false } = this.#options;
    const offered = server.tools.filter((tool) => !readingOnly || isReading(tool));
    const leftOut = offered.filter(({ inputSchema }) => isNestedTooDeeply(inputSchema));
    if (leftOut.length > 0) this.#news.leftOut(server.name, leftOut);
    const added = offered.flatMap((tool) => {
      if (leftOut.includes(tool)) return [];
      const name = this.#names.assign(server.name, tool.name);
      return name === undefined ? [] : [mcpTool({ name, tool, server, shorten: this.#options.shorten })];
    });
    if (added.length > 0) this.#tools = [...this.#tools, ...added].sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}

function isReading({ annotations }: ListedTool): boolean {
  return isFields(annotations) && annotations["readOnlyHint"] === true;
}

/** The Responses API's limit for function names. */
const LONGEST_NAME = 64;
const UNSUPPORTED = /[^a-zA-Z0-9_-]/gu;

/** The names under which the model sees the tools of all servers. An assigned name stays with its tool. */
export class ToolNames {
  readonly #taken = new Set<string>();
  readonly #named = new Set<string>();

  /** Undefined when the same tool already has a name. */
  assign(server: string, tool: string): string | undefined {
    const raw = `mcp__${server}__${tool}`;
    if (this.#named.has(raw)) return undefined;
    this.#named.add(raw);
    const plain = raw.replaceAll(UNSUPPORTED, "_");
    const fitting = plain.length <= LONGEST_NAME && !this.#taken.has(plain) ? plain : withHash(plain, raw);
    if (this.#taken.has(fitting)) return undefined;
    this.#taken.add(fitting);
    return fitting;
  }
}

/** The prefix of all tool names of a server. */
export function namePrefix(server: string): string {
  return `mcp__${server}__`.replaceAll(UNSUPPORTED, "_");
}

/** Uses a hash of the original name, so that tools whose cleaned names are equal stay distinct. */
function withHash(plain: string, raw: string): string {
  const hash = createHash("sha1").update(raw).digest("hex");
  return plain.slice(0, LONGEST_NAME - hash.length) + hash;
}

export type McpStartupNews = Extract<ThreadEvent, { type: "mcpStartupUpdated" | "mcpStartupCompleted" | "warning" }>;

/** A warning is for people. */
const MOST_NAMED = 10;

/** The result of a start. The bare reason of a failure is for the summary, the full sentence for the update. */
type Outcome = { readonly state: "ready" | "cancelled" } | { readonly state: "failed"; readonly error: string; readonly reason: string };

/** Collects start-up events of a thread's servers until they are fetched. */
class StartupNews {
  readonly #servers: readonly string[];
  readonly #outcomes = new Map<string, Outcome>();
  #untold: McpStartupNews[] = [];

  constructor(servers: readonly string[]) {
    this.#servers = servers;
    for (const server of servers) this.#tell(server, { state: "starting" });
  }

  /** The events since the last call. */
  take(): readonly McpStartupNews[] {
    const untold = this.#untold;
    this.#untold = [];
    return untold;
  }

  ready(server: string): void {
    this.#tell(server, { state: "ready" });
    this.#settle(server, { state: "ready" });
  }

  leftOut(server: string, tools: readonly ListedTool[]): void {
    const names = tools.slice(0, MOST_NAMED).map(({ name }) => name);
    const others = tools.length > names.length ? ` and ${tools.length - names.length} more` : "";
    const message =
      `Of the MCP server ${server} these tools are left out, because their input schemas are nested in more than ${MOST_LEVELS} levels: ` +
      `${names.join(", ")}${others}.`;
    this.#untold.push({ type: "warning", message });
  }

  failed(server: string, cause: unknown): void {
    const outcome = outcomeOf(cause);
    this.#tell(server, outcome.state === "failed" ? { state: "failed", error: outcome.error } : { state: outcome.state });
    this.#settle(server, outcome);
  }

  #tell(server: string, status: McpServerStatus): void {
    this.#untold.push({ type: "mcpStartupUpdated", server, status });
  }

  #settle(server: string, outcome: Outcome): void {
    this.#outcomes.set(server, outcome);
    if (this.#outcomes.size === this.#servers.length) this.#untold.push(this.#summary());
  }

  #summary(): McpStartupNews {
    // In the order in which they settled.
    const outcomes = [...this.#outcomes];
    const inState = (state: Outcome["state"]) => outcomes.filter(([, outcome]) => outcome.state === state).map(([server]) => server);
    const failed = outcomes.flatMap(([server, outcome]) => (outcome.state === "failed" ? [{ server, error: outcome.reason }] : []));
    return { type: "mcpStartupCompleted", ready: inState("ready"), failed, cancelled: inState("cancelled") };
  }
}

function outcomeOf(cause: unknown): Outcome {
  if (cause instanceof McpStartCancelled) return { state: "cancelled" };
  const error = describe(cause);
  return { state: "failed", error, reason: cause instanceof McpServerNotStarted ? cause.reason : error };
}
