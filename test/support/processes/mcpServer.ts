import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { isRecord, valueAt } from "../scenarios/scenario.js";
import { type Stage, setStage, stageEnvironment } from "../stage.js";
import { killMarked, type MarkedProcess, processesMarked, RUN_MARK, stragglers } from "./markedProcesses.js";
import { type ProcessEnd, ServerProcess } from "./serverProcess.js";

export const MAIN = fileURLToPath(new URL("../../../dist/main.js", import.meta.url));

/** The deadline of every wait: long enough for a busy machine, short enough to fail with a message. */
const PATIENCE_MS = 45_000;
const STRAGGLERS_GRACE_MS = 10_000;

type Json = Readonly<Record<string, unknown>>;

export interface ServerStart {
  /** Flags of the server; without any it runs the scripted model. */
  readonly args?: readonly string[];
  /** The text of config.toml; absent: no file is written. */
  readonly config?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Folders of an earlier server, to continue with; otherwise new ones. */
  readonly stage?: Stage;
  /** The program to start instead of the built server. */
  readonly command?: readonly [program: string, ...args: string[]];
  /** Called with every line of stdout, before it is parsed. */
  readonly onLine?: (line: string) => void;
}

/** Starts the built server as a real process. Disposing ends it, and fails if stdout had anything but messages. */
export async function startServer(start: ServerStart = {}): Promise<McpServer> {
  const stage = start.stage ?? (await setStage());
  if (start.config !== undefined) await writeFile(path.join(stage.codexHome, "config.toml"), start.config);
  return new McpServer(stage, { ...start, ownsStage: start.stage === undefined });
}

/** A server process and the client's side of its conversation. */
export class McpServer implements AsyncDisposable {
  readonly errorLines: string[] = [];
  readonly #process: ServerProcess;
  readonly #mark = randomUUID();
  readonly #noise: string[] = [];
  readonly #answers = new Map<unknown, Json[]>();
  readonly #events = new Map<unknown, Json[]>();
  readonly #notifications: Json[] = [];
  #lastLine = "";
  #lastId = 0;

  constructor(
    readonly stage: Stage,
    private readonly start: ServerStart & { readonly ownsStage: boolean },
  ) {
    const [program, ...first] = start.command ?? [process.execPath, MAIN];
    // All of our tools by default, so that those outside the default set are tested as well.
    const tools = { CODEX_MCP_TOOLS: "codex,extras" };
    const env = { ...stageEnvironment(stage, NO_SCENARIO, {}), ...tools, ...start.env, [RUN_MARK]: this.#mark };
    this.#process = new ServerProcess(
      { program, args: [...first, ...(start.args ?? ["--engine", "scripted"])], cwd: stage.workspace, env },
      { onLine: (line) => this.#receive(line), onErrorLine: (line) => this.errorLines.push(line) },
    );
  }

  get process(): ServerProcess {
    return this.#process;
  }

  /** Messages that are neither answers nor events of a call. */
  get notifications(): readonly Json[] {
    return this.#notifications;
  }

  send(message: unknown): void {
    this.write(`${JSON.stringify(message)}\n`);
  }

  write(text: string | Uint8Array): void {
    this.#process.write(text);
  }

  async initialize(protocolVersion = "2025-11-25", capabilities: Json = {}): Promise<unknown> {
    const params = { protocolVersion, capabilities, clientInfo: { name: "test", version: "1.0.0" } };
    const answer = await this.request("initialize", params);
    this.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    return answer;
  }

  /** The result of a request, or `{ error }`. */
  async request(method: string, params?: Json): Promise<unknown> {
    const id = ++this.#lastId;
    this.send({ jsonrpc: "2.0", id, method, ...(params ? { params } : {}) });
    const answer = await this.answer(id);
    return "error" in answer ? { error: answer["error"] } : answer["result"];
  }

  call(tool: string, args: Json, options: { readonly id?: number | string; readonly meta?: Json } = {}): ToolCall {
    const id = options.id ?? ++this.#lastId;
    const params = { name: tool, arguments: args, ...(options.meta ? { _meta: options.meta } : {}) };
    this.send({ jsonrpc: "2.0", id, method: "tools/call", params });
    return new ToolCall(this, id);
  }

  cancel(requestId: number | string): void {
    this.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId, reason: "the test says so" } });
  }

  /** The `nth` question of the server to its client. */
  question(nth = 1): Promise<Json> {
    return this.waitFor(`question ${nth}`, () => this.questions[nth - 1]);
  }

  get questions(): readonly Json[] {
    return this.#notifications.filter(({ method }) => method === "elicitation/create");
  }

  /** The client's answer to a question. */
  decide(question: Json, result: unknown): void {
    this.send({ jsonrpc: "2.0", id: question["id"], result });
  }

  /** The `nth` response to this id. */
  answer(id: unknown, nth = 1): Promise<Json> {
    return this.waitFor(`answer ${nth} to ${JSON.stringify(id)}`, () => this.#answers.get(id)?.[nth - 1]);
  }

  answersTo(id: unknown): readonly Json[] {
    return this.#answers.get(id) ?? [];
  }

  /** Every event of a call so far, as Codex's `msg`. */
  eventsOf(id: unknown): readonly Json[] {
    return this.#events.get(id) ?? [];
  }

  async waitFor<T>(what: string, look: () => T | undefined): Promise<T> {
    const found = await this.#process.waitFor(look, PATIENCE_MS);
    if (found !== undefined) return found;
    throw new Error(`No ${what}. ${this.#condition()}`);
  }

  /** How the process ended by itself. */
  async exit(): Promise<ProcessEnd> {
    const end = await this.#process.waitForEnd(PATIENCE_MS);
    if (end) return end;
    throw new Error(`The server did not end. ${this.#condition()}`);
  }

  /** The client closes its side. */
  async closeAndWait(): Promise<ProcessEnd> {
    this.#process.closeStdin();
    return this.exit();
  }

  /** Processes of this server that outlived a short grace. */
  leftBehind(): Promise<MarkedProcess[]> {
    return stragglers(this.#mark, { graceMs: STRAGGLERS_GRACE_MS });
  }

  /** What the server has started and what still lives. */
  started(): MarkedProcess[] {
    return processesMarked(this.#mark).filter(({ pid }) => pid !== this.#process.pid);
  }

  isAlive(): boolean {
    return processesMarked(this.#mark).length > 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Read before the kill, which may cut a message in two.
    const noise = this.#strayOutput();
    this.#process.kill("SIGKILL");
    killMarked(this.#mark);
    this.#process.resumeStdout();
    await this.#process.waitForEnd(PATIENCE_MS);
    if (this.start.ownsStage) await this.stage[Symbol.asyncDispose]();
    if (noise !== "") throw new Error(`stdout carried something that is no message: ${noise.slice(0, 500)}`);
  }

  /** The last line of a killed server may be an incomplete message. */
  #strayOutput(): string {
    const { end } = this.#process;
    const cutShort = end !== undefined && end.code !== 0 && this.#noise.at(-1) === this.#lastLine;
    return (cutShort ? this.#noise.slice(0, -1) : this.#noise).join("\n");
  }

  #condition(): string {
    const { end } = this.#process;
    return `It ${end ? `ended with ${JSON.stringify(end)}` : "is running"}; stderr: ${this.errorLines.slice(-5).join(" | ")}`;
  }

  #receive(line: string): void {
    this.#lastLine = line;
    this.start.onLine?.(line);
    const message = parse(line);
    if (!message) this.#noise.push(line);
    else if ("result" in message || "error" in message) add(this.#answers, message["id"], message);
    else if (message["method"] === "codex/event") add(this.#events, valueAt(message, "params._meta.requestId"), eventOf(message));
    else this.#notifications.push(message);
  }
}

/** One `tools/call` as its client follows it. */
export class ToolCall {
  constructor(
    private readonly server: McpServer,
    readonly id: number | string,
  ) {}

  async result(): Promise<CallResult> {
    const { result, error } = await this.server.answer(this.id);
    if (!isRecord(result)) throw new Error(`The call was answered with an error: ${JSON.stringify(error)}`);
    return result;
  }

  get events(): readonly Json[] {
    return this.server.eventsOf(this.id);
  }

  /** The first event of this type. */
  event(type: string): Promise<Json> {
    let seen = 0;
    return this.server.waitFor(`${type} of call ${this.id}`, () => {
      for (; seen < this.events.length; seen++) if (this.events[seen]?.["type"] === type) return this.events[seen];
      return undefined;
    });
  }

  async threadId(): Promise<string> {
    const { session_id: id } = await this.event("session_configured");
    return String(id);
  }
}

export type CallResult = Json;

const NO_SCENARIO = { name: "", about: "", steps: [] };

function parse(line: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isRecord(value) && value["jsonrpc"] === "2.0" ? value : undefined;
  } catch {
    return undefined;
  }
}

function eventOf(message: Json): Json {
  const msg = valueAt(message, "params.msg");
  return isRecord(msg) ? msg : {};
}

function add<T>(lists: Map<unknown, T[]>, key: unknown, value: T): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}
