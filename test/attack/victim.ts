import { readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ask, type EventStream, handshake, openStream, rpc, toolCall } from "../support/http/httpClient.js";
import { addressOf } from "../support/http/httpServer.js";
import { mockProvider } from "../support/model/mockProvider.js";
import { type ResponsesServer, type ResponsesServerOptions, startResponsesServer } from "../support/model/responsesServer.js";
import { type McpServer, type ServerStart, startServer } from "../support/processes/mcpServer.js";
import { isRecord, valueAt } from "../support/scenarios/scenario.js";
import type { Ground } from "./ground.js";

type Json = Readonly<Record<string, unknown>>;

/** More than an honest server ever uses under these attacks. */
const MOST_MEMORY_BYTES = 700 * 1024 * 1024;
const LOOK_EVERY_MS = 10;
const PATIENCE_MS = 45_000;

/** The callers of a listening server. */
export const PRINCIPALS = ["alice", "bob", "root"] as const;
export type PrincipalName = (typeof PRINCIPALS)[number];

export interface VictimOptions extends Pick<ServerStart, "command" | "env"> {
  /** Arguments besides the engine and the token file. */
  readonly args?: readonly string[];
  readonly engine?: string;
  /** The place of the token file, if it is not in a folder of its own. */
  readonly tokenFile?: string;
  /** Workspace roots of single callers. */
  readonly roots?: Partial<Record<PrincipalName, string>>;
  /** Lines of config.toml after the provider's table. */
  readonly config?: string;
  /** The complete config.toml, for a given address of the model. */
  readonly wholeConfig?: (modelUrl: string) => string;
  readonly model?: ResponsesServerOptions;
  /** The clients' answer to every question. Absent: they cannot be asked. */
  readonly answer?: Json;
}

/** A token file for the three callers, one of them an operator. Each token is a secret of the ground. */
export function tokenLines(ground: Ground, roots: VictimOptions["roots"] = {}): string {
  return PRINCIPALS.map((name) => {
    const grants = [...(name === "root" ? ["operator"] : []), ...(roots[name] === undefined ? [] : [`root=${roots[name]}`])];
    return `${[name, ground.secret(`token of ${name}`), ...grants].join(" ")}\n`;
  }).join("");
}

/** The built server under attack and its model. All output of the server is recorded on the ground. */
export class Victim implements AsyncDisposable {
  /** The answer to `initialize` on stdio. */
  welcome: unknown;
  #watching = true;
  #largest = 0;
  readonly #watch: Promise<void>;

  private constructor(
    readonly ground: Ground,
    readonly server: McpServer,
    readonly model: ResponsesServer,
    private readonly origin: string | undefined,
    private readonly answer: Json | undefined,
  ) {
    this.#watch = this.#watchMemory();
  }

  /** A client on stdio after the handshake. */
  static async onStdio(ground: Ground, options: VictimOptions = {}): Promise<Victim> {
    const { server, model } = await start(ground, options, []);
    const victim = new Victim(ground, server, model, undefined, options.answer);
    try {
      victim.welcome = await server.initialize("2025-11-25", options.answer ? { elicitation: {} } : {});
      return victim;
    } catch (error) {
      await victim[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** A server on a free port with a token file for the three callers. */
  static async onPort(ground: Ground, options: VictimOptions = {}): Promise<Victim> {
    const file = ground.hold(options.tokenFile ?? path.join(ground.root, "keys", "tokens"), tokenLines(ground, options.roots));
    return Victim.listening(ground, { ...options, args: ["--token-file", file, ...(options.args ?? [])] });
  }

  /** A server on a free port with the given arguments. */
  static async listening(ground: Ground, options: VictimOptions = {}): Promise<Victim> {
    const { server, model } = await start(ground, options, options.args?.includes("--port") ? [] : ["--port", "0"]);
    try {
      return new Victim(ground, server, model, await addressOf(server), options.answer);
    } catch (error) {
      await server[Symbol.asyncDispose]();
      await model.close();
      throw error;
    }
  }

  get url(): string {
    if (this.origin === undefined) throw new Error("this one does not listen");
    return this.origin;
  }

  /** A turn on stdio; returns its result, even when it failed. */
  async turn(prompt: string, args: Json = {}): Promise<unknown> {
    return this.call("codex", { prompt, sandbox: "workspace-write", "approval-policy": "never", ...args });
  }

  /** A tool call on stdio. */
  async call(tool: string, args: Json): Promise<unknown> {
    return this.server.request("tools/call", { name: tool, arguments: args });
  }

  /** A turn that runs any script in bash. */
  async runs(script: string, args: Json = {}): Promise<unknown> {
    const result = await this.turn(running(script), args);
    if (!isRefusal(result)) this.ground.notes["run"] = "expected";
    return result;
  }

  /** A session with the token of this caller. */
  async as(who: PrincipalName): Promise<PortClient> {
    return this.session({ authorization: `Bearer ${this.ground.secret(`token of ${who}`)}` }, who);
  }

  async session(headers: Readonly<Record<string, string>> = {}, who = "a caller"): Promise<PortClient> {
    return PortClient.open({ ground: this.ground, origin: this.url, headers, who, answer: this.answer });
  }

  /** Fails if the server no longer answers. */
  async stillAnswers(): Promise<void> {
    if (this.origin === undefined) await this.server.request("ping");
    else if ((await ask(this.origin, { path: "/healthz" })).status !== 200) throw new Error("the server is not well");
  }

  /** The resources that the server used too much of. */
  excesses(): string[] {
    this.#measure();
    return this.#largest > MOST_MEMORY_BYTES ? [`memory of the server: ${Math.round(this.#largest / 2 ** 20)} MiB`] : [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#watching = false;
    await this.#watch;
    for (const { body } of this.model.requests) this.ground.see("a request to the model", JSON.stringify(body));
    for (const line of this.server.errorLines) this.ground.see("the log", line);
    await this.server[Symbol.asyncDispose]();
    await this.model.close();
  }

  /** A server that grows without limit is killed before the machine runs out of memory. */
  async #watchMemory(): Promise<void> {
    while (this.#watching) {
      this.#measure();
      if (this.#largest > MOST_MEMORY_BYTES) this.server.process.kill("SIGKILL");
      await sleep(LOOK_EVERY_MS);
    }
  }

  #measure(): void {
    try {
      const [, kilobytes] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${this.server.process.pid}/status`, "utf8")) ?? [];
      this.#largest = Math.max(this.#largest, Number(kilobytes ?? 0) * 1024);
    } catch {
      // The process has ended.
    }
  }
}

/** A caller of a listening server; records everything it receives. */
export class PortClient implements Disposable {
  #lastId = 0;
  #answered = 0;
  readonly #listening: Promise<EventStream | undefined>;

  private constructor(
    private readonly place: PortPlace,
    private readonly headers: Readonly<Record<string, string>>,
  ) {
    this.#listening = openStream(place.origin, { headers }).catch(() => undefined);
  }

  static async open(place: PortPlace): Promise<PortClient> {
    const capabilities = place.answer ? { elicitation: {} } : {};
    const { status, session, body } = await ask(place.origin, { headers: place.headers, message: handshake(0, { capabilities }) });
    if (status !== 200 || session === undefined) throw new NotLetIn(status, body);
    return new PortClient(place, { ...place.headers, "mcp-session-id": session });
  }

  async call(tool: string, args: Json): Promise<unknown> {
    const id = `c${++this.#lastId}`;
    const stream = await this.#listening;
    const answered = ask(this.place.origin, { headers: this.headers, message: toolCall(id, args, tool) });
    const { body } = await this.#answering(stream, answered);
    this.place.ground.see(`an answer to ${this.place.who}`, JSON.stringify(body));
    return valueAt(body, "result") ?? { error: valueAt(body, "error") ?? body };
  }

  turn(prompt: string, args: Json = {}): Promise<unknown> {
    return this.call("codex", { prompt, sandbox: "workspace-write", "approval-policy": "never", ...args });
  }

  async runs(script: string, args: Json = {}): Promise<unknown> {
    const result = await this.turn(running(script), args);
    if (!isRefusal(result)) this.place.ground.notes["run"] = "expected";
    return result;
  }

  async ask(method: string, params?: Json): Promise<unknown> {
    const { body } = await ask(this.place.origin, { headers: this.headers, message: rpc(`c${++this.#lastId}`, method, params) });
    this.place.ground.see(`an answer to ${this.place.who}`, JSON.stringify(body));
    return body;
  }

  /** All messages that the server sent on its own. */
  async told(): Promise<readonly Json[]> {
    return (await this.#listening)?.messages ?? [];
  }

  [Symbol.dispose](): void {
    void this.#listening.then((stream) => {
      this.place.ground.see(`an event for ${this.place.who}`, JSON.stringify(stream?.messages ?? []));
      stream?.breakOff();
    });
  }

  async #answering<T>(stream: EventStream | undefined, answered: Promise<T>): Promise<T> {
    const { answer, origin } = this.place;
    if (!stream || !answer) return this.#noting(stream, answered);
    let waiting = true;
    const done = answered.finally(() => {
      waiting = false;
    });
    const looking = (async () => {
      while (waiting) {
        const questions = stream.messages.filter(({ method }) => method === "elicitation/create");
        for (const { id } of questions.slice(this.#answered)) {
          this.#answered++;
          await ask(origin, { headers: this.headers, message: { jsonrpc: "2.0", id, result: answer } });
        }
        await sleep(LOOK_EVERY_MS);
      }
    })();
    const result = await this.#noting(stream, done);
    await looking;
    return result;
  }

  async #noting<T>(stream: EventStream | undefined, answered: Promise<T>): Promise<T> {
    const result = await answered;
    this.place.ground.see(`an event for ${this.place.who}`, JSON.stringify(stream?.messages ?? []));
    return result;
  }
}

interface PortPlace {
  readonly ground: Ground;
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly who: string;
  readonly answer: Json | undefined;
}

export class NotLetIn extends Error {
  constructor(
    readonly status: number,
    body: unknown,
  ) {
    super(`not let in: ${status} ${JSON.stringify(body)}`);
  }
}

/** Every command prints this first. Otherwise an attack whose command never ran would look like one that was stopped. */
export const RAN = "ran-as-told";

function isRefusal(result: unknown): boolean {
  return valueAt(result, "isError") === true || valueAt(result, "error") !== undefined;
}

/** A prompt that makes the scripted model run this script in bash, including line breaks and quotes. */
export function running(script: string): string {
  const told = Buffer.from(`echo ${RAN}; ${script}`).toString("base64");
  return `!shell eval "$(echo ${told} | base64 -d)"\n!say done`;
}

/** A prompt that makes the scripted model apply this patch. */
export function patching(...lines: readonly string[]): string {
  return `!rawpatch ${["*** Begin Patch", ...lines, "*** End Patch"].join("\\n")}\n!say done`;
}

/** The agent's answer without the data around it. */
export function answerIn(result: unknown): unknown {
  return valueAt(result, "structuredContent.content");
}

/** The text of the result, or the whole result if it has none. */
export function textOf(result: unknown): string {
  const content = valueAt(result, "content");
  if (!Array.isArray(content)) return JSON.stringify(result);
  return content.map((part: unknown) => (isRecord(part) && typeof part["text"] === "string" ? part["text"] : "")).join("\n");
}

async function start(
  ground: Ground,
  options: VictimOptions,
  listening: readonly string[],
): Promise<{ server: McpServer; model: ResponsesServer }> {
  const model = await startResponsesServer(options.model);
  const config = options.wholeConfig?.(model.url) ?? mockProvider(model.url) + (options.config ?? "");
  const answer = options.answer;
  let server: McpServer | undefined;
  server = await startServer({
    stage: ground,
    config,
    args: ["--engine", options.engine ?? "native", ...listening, ...(options.args ?? [])],
    env: { OPENAI_API_KEY: ground.secret("api key"), ...options.env },
    ...(options.command && { command: options.command }),
    onLine: (line) => {
      ground.see("a message to the client", line);
      const question = answer && line.includes('"elicitation/create"') ? (JSON.parse(line) as Json) : undefined;
      if (question) server?.decide(question, answer);
    },
  });
  return { server, model };
}

/** Waits until the condition holds, for states that can only be observed from outside. */
export async function until(isSo: () => boolean, deadlineMs = PATIENCE_MS): Promise<boolean> {
  const end = performance.now() + deadlineMs;
  while (!isSo()) {
    if (performance.now() > end) return false;
    await sleep(LOOK_EVERY_MS);
  }
  return true;
}
