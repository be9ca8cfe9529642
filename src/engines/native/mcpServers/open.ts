import { within } from "../../../exec/deadline.js";
import type { TurnMark } from "../../../exec/nesting/turnMark.js";
import type { McpServerSettings } from "../../../threads/settings.js";
import type { DeclaredTool, Tool } from "../tools/tool.js";
import { orAborted } from "./deadline.js";
import { mcpTool } from "./mcpTool.js";
import { type AskElicitation, Questions } from "./questions.js";
import { resourceTools } from "./resourceTools.js";
import { McpServer } from "./server.js";
import type { ProgramSurroundings } from "./serverProgram.js";
import { type McpStartupNews, StartupNews } from "./startupNews.js";
import { namePrefix, ToolNames } from "./toolNames.js";

export interface McpServersOptions {
  readonly around: ProgramSurroundings;
  /** What tells servers that they are inside a turn. Absent: the strictest. */
  readonly mark?: TurnMark | undefined;
  /** Ends all of them, as `close` does. */
  readonly signal?: AbortSignal;
  /** Gets the questions of servers; without it they are declined. */
  readonly ask?: AskElicitation;
  /** What the model gets of a long output. */
  readonly shorten: (text: string) => string;
  /** How long after the opening a request waits for servers that are still starting. */
  readonly patienceMs?: number;
}

/** Most servers are up by then, and one that hangs costs the thread's first request no more than this. */
const DEFAULT_PATIENCE_MS = 2_000;

/** Starts all servers at once, in the background. */
export function openMcpServers(settings: readonly McpServerSettings[], options: McpServersOptions): McpServers {
  const servers = new McpServers(settings, options);
  servers.start();
  return servers;
}

/** The agent's own MCP servers in one thread, and what they offer to its model. */
export class McpServers implements AsyncDisposable {
  /** Tools to list and read what servers have; */
  readonly resources: readonly DeclaredTool[];
  readonly #servers: readonly McpServer[];
  readonly #options: McpServersOptions;
  readonly #news: StartupNews;
  readonly #names = new ToolNames();
  readonly #starting = new Map<McpServer, Promise<void>>();
  #tools: readonly DeclaredTool[] = [];
  #patientUntil = 0;
  #closed: Promise<void> | undefined;

  constructor(settings: readonly McpServerSettings[], options: McpServersOptions) {
    const { around, mark, ask, shorten } = options;
    this.#options = options;
    this.#servers = settings.map((one) => new McpServer(one, { around, mark, questions: new Questions(ask) }));
    this.#news = new StartupNews(settings.map(({ name }) => name));
    this.resources = resourceTools({ servers: this.#servers, shorten });
  }

  start(): void {
    this.#patientUntil = performance.now() + (this.#options.patienceMs ?? DEFAULT_PATIENCE_MS);
    for (const server of this.#servers) this.#starting.set(server, this.#bringUp(server));
    this.#options.signal?.addEventListener("abort", this.#end, { once: true });
    if (this.#options.signal?.aborted) this.#end();
  }

  /** What happened while they started and was not fetched yet: each server's states, and in the end one summary. */
  takeStartupNews(): readonly McpStartupNews[] {
    return this.#news.take();
  }

  /** The tools of the servers that are up, by name; the same array as long as nothing was added. Waits for the others only at first. */
  async tools({ signal }: { readonly signal: AbortSignal }): Promise<readonly DeclaredTool[]> {
    const patienceMs = this.#patientUntil - performance.now();
    if (patienceMs > 0) await orAborted(within(patienceMs, this.#allStarted(), undefined), signal);
    return this.#tools;
  }

  /** What the model means by this name; when it is a tool of a server that is still starting, waits for that one. */
  async find(name: string, { signal }: { readonly signal: AbortSignal }): Promise<Tool | undefined> {
    const awaited = [...this.#starting].filter(([server]) => name.startsWith(namePrefix(server.name)));
    await orAborted(Promise.all(awaited.map(([, started]) => started)), signal);
    return [...this.resources, ...this.#tools].find((tool) => tool.name === name);
  }

  /** Ends all of them, also those that are still starting. Resolves when nothing of them is left. */
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

  async #allStarted(): Promise<void> {
    await Promise.all(this.#starting.values());
  }

  async #bringUp(server: McpServer): Promise<void> {
    try {
      await server.start();
      this.#offer(server);
      this.#news.ready(server.name);
    } catch (error) {
      this.#news.failed(server.name, error);
    } finally {
      this.#starting.delete(server);
    }
  }

  #offer(server: McpServer): void {
    const offered = server.tools.flatMap((tool) => {
      const name = this.#names.assign(server.name, tool.name);
      return name === undefined ? [] : [mcpTool({ name, tool, server, shorten: this.#options.shorten })];
    });
    if (offered.length > 0) this.#tools = [...this.#tools, ...offered].sort((a, b) => (a.name < b.name ? -1 : 1));
  }
}
