import { STATUS_CODES } from "node:http";
import type { Client, StandardSchemaV1 } from "@modelcontextprotocol/client";
import type { TurnMark } from "../../../exec/nesting/turnMark.js";
import { describe } from "../../../lib/errors.js";
import { isNestedTooDeeply, MOST_LEVELS } from "../../../lib/fields.js";
import { Deadline, orAborted, withDeadline } from "../../../lib/promises.js";
import { VERSION } from "../../../lib/version.js";
import type { McpServerSettings } from "../../../threads/settings.js";
import { maskSent } from "../model/failures.js";
import { durationText, McpLoginNeeded, McpRequestFailed, McpStartCancelled, McpTimedOut, notStarted } from "./failures.js";
import { type LinkOptions, openLink, type ServerHost, type ServerLink } from "./openLink.js";
import type { Questions } from "./questions.js";
import { allPages, type ListedTool, ToolPage } from "./serverAnswers.js";

interface AgentServerOptions {
  readonly host: ServerHost;
  readonly mark?: TurnMark | undefined;
  readonly questions: Questions;
  /** Errors have the wording of Codex 0.92.0. */
  readonly asRecorded: boolean;
}

/** One configured server. A lost server is started again when it is needed, with one attempt each time. */
export class AgentServer {
  readonly #settings: McpServerSettings;
  readonly #options: AgentServerOptions;
  readonly #closing = new AbortController();
  #latest: Promise<Connection> | undefined;
  #tools: readonly ListedTool[] = [];

  constructor(settings: McpServerSettings, options: AgentServerOptions) {
    this.#settings = settings;
    this.#options = options;
  }

  get name(): string {
    return this.#settings.name;
  }

  /** Its tools, as listed at its first start. */
  get tools(): readonly ListedTool[] {
    const { enabledTools, disabledTools } = this.#settings;
    return this.#tools.filter(({ name }) => (enabledTools?.includes(name) ?? true) && !disabledTools.includes(name));
  }

  /** Rejects with McpServerNotStarted, or with McpStartCancelled when it was closed meanwhile. */
  async start(): Promise<void> {
    this.#latest = this.#open();
    await this.#latest;
  }

  /** Waits for the server to be up, then for its response, each within its limit. Aborting the signal cancels the request at the server. */
  async request<Schema extends StandardSchemaV1>(
    request: McpRequest<Schema>,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<StandardSchemaV1.InferOutput<Schema>> {
    const { toolTimeoutMs } = this.#settings;
    const connection = await this.#connected(signal);
    const late = () => new McpTimedOut(`timed out awaiting ${request.method} after ${durationText(toolTimeoutMs)}`);
    using deadline = new Deadline(toolTimeoutMs, late);
    return await this.#options.questions.during(deadline, () =>
      withDeadline({ deadline, signal }, (ends) => connection.request(request, ends)),
    );
  }

  async hasResources({ signal }: { readonly signal: AbortSignal }): Promise<boolean> {
    return (await this.#connected(signal)).hasResources;
  }

  /** Resolves when all its processes and connections are closed. */
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

/** The name under which servers know Codex; some treat it specially. */
const IDENTITY = { name: "codex-mcp-client", title: "Codex", version: VERSION };

type ConnectionOptions = LinkOptions & Pick<AgentServerOptions, "questions" | "asRecorded">;

interface OpenConnection {
  readonly connection: Connection;
  readonly tools: readonly ListedTool[];
}

/** Starts or contacts the server, performs the handshake and lists its tools. On failure everything is closed again. */
async function openConnection(settings: McpServerSettings, options: ConnectionOptions): Promise<OpenConnection> {
  const { name, startupTimeoutMs } = settings;
  if (!/^[a-zA-Z0-9_-]+$/.test(name)) throw new Error(`Invalid MCP server name '${name}': must match pattern ^[a-zA-Z0-9_-]+$`);
  const link = await openLink(settings, options);
  try {
    // The program starts while this module is loaded.
    const { Client } = await import("./sdk.js");
    const client = new Client(IDENTITY, { capabilities: { elicitation: {} } });
    client.setRequestHandler("elicitation/create", async ({ params }, { mcpReq }) => {
      if (!("requestedSchema" in params) || isNestedTooDeeply(params)) return { action: "decline" };
      const { message, requestedSchema } = params;
      return options.questions.ask({ server: name, message, requestedSchema }, mcpReq.signal);
    });
    const connection = new Connection(client, link, options);
    const step = startupStep(startupTimeoutMs, options.signal);
    await step("handshaking with MCP server", (ends) => connection.shakeHands(ends));
    const tools = await step("awaiting tools/list", (ends) => connection.listTools(ends));
    return { connection, tools };
  } catch (error) {
    await link.transport.close();
    throw error;
  }
}

/** Each step of a start may take the whole time limit. */
function startupStep(limitMs: number, signal: AbortSignal) {
  return async <T>(what: string, work: (ends: AbortSignal) => Promise<T>): Promise<T> => {
    using deadline = new Deadline(limitMs, () => new McpTimedOut(`timed out ${what} after ${durationText(limitMs)}`));
    return await withDeadline({ deadline, signal }, work);
  };
}

/** The maximum of Node's timers. The official client limits every request; here the callers set the limits. */
const NO_LIMIT_MS = 2 ** 31 - 1;
/** A reason is for people; some servers respond with a whole page. */
const LONGEST_REASON = 500;
const UNAUTHORIZED = 401;
/** The client's error code for a connection that closed while a request was pending. */
const CLOSED = "CONNECTION_CLOSED";
/** Its code for a response that does not fit the method. */
const MISFIT = "INVALID_RESULT";

interface McpRequest<Schema extends StandardSchemaV1> {
  readonly method: string;
  readonly params?: Record<string, unknown>;
  readonly answer: Schema;
}

/** One connection to a server. Errors have our wording and do not contain the secrets the server was given. */
class Connection {
  readonly #client: Client;
  readonly #link: ServerLink;
  readonly #asRecorded: boolean;

  constructor(client: Client, link: ServerLink, { asRecorded }: Pick<ConnectionOptions, "asRecorded">) {
    this.#client = client;
    this.#link = link;
    this.#asRecorded = asRecorded;
  }

  /** No more messages can come from the server. */
  get lost(): boolean {
    return this.#link.transport.lostBecause !== undefined;
  }

  get hasResources(): boolean {
    return this.#client.getServerCapabilities()?.resources !== undefined;
  }

  async shakeHands(signal: AbortSignal): Promise<void> {
    try {
      await this.#client.connect(this.#link.transport, { signal, timeout: NO_LIMIT_MS });
    } catch (error) {
      throw this.#failure("handshaking with MCP server", error, this.#asRecorded ? recordedLoss(error, this.#link) : undefined);
    }
  }

  async listTools(signal: AbortSignal): Promise<readonly ListedTool[]> {
    if (!this.#client.getServerCapabilities()?.tools) return [];
    return allPages("tools/list", async (params) => {
      const { tools, nextCursor } = await this.#ask({ method: "tools/list", params, answer: ToolPage }, signal);
      return { entries: tools, nextCursor };
    });
  }

  /** Aborting the signal cancels the request at the server. */
  async request<Schema extends StandardSchemaV1>(
    request: McpRequest<Schema>,
    signal: AbortSignal,
  ): Promise<StandardSchemaV1.InferOutput<Schema>> {
    const answer = await this.#ask(request, signal);
    if (isNestedTooDeeply(answer))
      throw new McpRequestFailed(`${request.method} failed: the response is nested in more than ${MOST_LEVELS} levels`);
    return answer;
  }

  async #ask<Schema extends StandardSchemaV1>(
    { method, params = {}, answer }: McpRequest<Schema>,
    signal: AbortSignal,
  ): Promise<StandardSchemaV1.InferOutput<Schema>> {
    try {
      return await this.#client.request({ method, params }, answer, { signal, timeout: NO_LIMIT_MS });
    } catch (error) {
      throw this.#failure(method, error);
    }
  }

  /** Resolves when the connection and its process are closed. */
  async close(): Promise<void> {
    await this.#link.transport.close();
  }

  #failure(what: string, error: unknown, because = reasonOf(error, this.#link.transport)): Error {
    if (fieldOf(error, "status") === UNAUTHORIZED) return new McpLoginNeeded("Auth required", { cause: error });
    const reason = maskSent(because, this.#link.secrets, this.#link.url).slice(0, LONGEST_REASON);
    const isLost = this.#link.transport.lostBecause !== undefined;
    const isMisfit = fieldOf(error, "code") === MISFIT;
    return new McpRequestFailed(`${what} failed: ${reason}`, { cause: error, isLost, isMisfit });
  }
}

function reasonOf(error: unknown, { lostBecause, lastLine }: ServerLink["transport"]): string {
  const code = fieldOf(error, "code");
  const status = fieldOf(error, "status");
  // A number is the server's own error code; the official client's codes are words.
  if (typeof code === "number") return `Mcp error: ${code}: ${describe(error)}${dataOf(error)}`;
  if (typeof status === "number") return `HTTP ${status}: ${describe(error)}`;
  if (code !== CLOSED || lostBecause === undefined) return describe(error);
  return `connection closed: ${lostBecause}${lastLine === undefined ? "" : `: ${lastLine}`}`;
}

/** How Codex 0.92.0 worded that a server ended before its handshake, refused it, or could not be reached; undefined for other failures. */
function recordedLoss(error: unknown, { transport: { lostBecause }, url }: ServerLink): string | undefined {
  if (lostBecause === undefined) return undefined;
  if (!url) return "connection closed: initialize response";
  const status = fieldOf(error, "status");
  const cause =
    typeof status === "number"
      ? `HTTP status ${status < 500 ? "client" : "server"} error (${status} ${STATUS_CODES[status] ?? "<unknown status code>"}) for url`
      : "error sending request for url";
  return `Send message error Transport [${RECORDED_TRANSPORT}] error: Client error: ${cause} (${url.href}), when send initialize request`;
}

const RECORDED_TRANSPORT =
  "rmcp::transport::worker::WorkerTransport<rmcp::transport::streamable_http_client::StreamableHttpClientWorker<reqwest::async_impl::client::Client>>";

/** The `data` of the server's error, in Codex's format. */
function dataOf(error: unknown): string {
  const data = fieldOf(error, "data");
  return data === undefined || data === null ? "" : `(${JSON.stringify(data)})`;
}

function fieldOf(error: unknown, name: "code" | "data" | "status"): unknown {
  return error instanceof Error && name in error ? Reflect.get(error, name) : undefined;
}
