import type { StandardSchemaV1 } from "@modelcontextprotocol/client";
import type { TurnMark } from "../../../exec/nesting/turnMark.js";
import type { McpServerSettings } from "../../../threads/settings.js";
import type { Connection, McpRequest } from "./connection.js";
import { Deadline, orAborted, withinLimit } from "./deadline.js";
import { durationText, McpStartCancelled, notStarted } from "./failures.js";
import { openConnection } from "./openConnection.js";
import type { Questions } from "./questions.js";
import type { ListedTool } from "./results.js";
import type { ProgramSurroundings } from "./serverProgram.js";

export interface McpServerOptions {
  readonly around: ProgramSurroundings;
  readonly mark?: TurnMark | undefined;
  readonly questions: Questions;
}

/** One configured server. One that was lost is started again when it is needed: one attempt per need. */
export class McpServer {
  readonly #settings: McpServerSettings;
  readonly #options: McpServerOptions;
  readonly #closing = new AbortController();
  #latest: Promise<Connection> | undefined;
  #tools: readonly ListedTool[] = [];

  constructor(settings: McpServerSettings, options: McpServerOptions) {
    this.#settings = settings;
    this.#options = options;
  }

  get name(): string {
    return this.#settings.name;
  }

  /** What it offers, as it said at its first start. */
  get tools(): readonly ListedTool[] {
    const { enabledTools, disabledTools } = this.#settings;
    return this.#tools.filter(({ name }) => (enabledTools?.includes(name) ?? true) && !disabledTools.includes(name));
  }

  /** Rejects with McpServerNotStarted, or with McpStartCancelled when it was closed meanwhile. */
  async start(): Promise<void> {
    this.#latest = this.#open();
    await this.#latest;
  }

  /** Waits for the server to be up, then for its answer, each within its limit. Aborting the signal is told to the server. */
  async request<Schema extends StandardSchemaV1>(
    request: McpRequest<Schema>,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<StandardSchemaV1.InferOutput<Schema>> {
    const { toolTimeoutMs } = this.#settings;
    const connection = await this.#connected(signal);
    using limit = new Deadline(toolTimeoutMs);
    const late = `timed out awaiting ${request.method} after ${durationText(toolTimeoutMs)}`;
    return await this.#options.questions.during(limit, () =>
      withinLimit(limit, { signal, late }, (ends) => connection.request(request, ends)),
    );
  }

  async hasResources({ signal }: { readonly signal: AbortSignal }): Promise<boolean> {
    return (await this.#connected(signal)).hasResources;
  }

  /** Resolves when nothing of it is left. */
  async close(): Promise<void> {
    this.#closing.abort(new McpStartCancelled("MCP startup cancelled"));
    const connection = await this.#latest?.catch(NEVER_UP);
    await connection?.close();
  }

  async #connected(signal: AbortSignal): Promise<Connection> {
    this.#closing.signal.throwIfAborted();
    this.#latest ??= this.#open();
    const seen = this.#latest;
    const connection = await orAborted(seen, signal);
    if (!connection.lost) return connection;
    if (this.#latest === seen) this.#latest = this.#replace(connection, seen);
    return orAborted(this.#latest, signal);
  }

  async #replace(lost: Connection, seen: Promise<Connection>): Promise<Connection> {
    try {
      await lost.close();
      return await this.#open();
    } catch (error) {
      this.#latest = seen;
      throw error;
    }
  }

  async #open(): Promise<Connection> {
    try {
      const { connection, tools } = await openConnection(this.#settings, { ...this.#options, signal: this.#closing.signal });
      if (this.#tools.length === 0) this.#tools = tools;
      return connection;
    } catch (error) {
      throw error instanceof McpStartCancelled ? error : notStarted(this.#settings, error);
    }
  }
}

const NEVER_UP = () => undefined;
