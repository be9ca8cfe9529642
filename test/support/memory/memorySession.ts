import { callersInside } from "../../../src/agent/caller.js";
import type { RequestId } from "../../../src/jsonrpc/message.js";
import type { Wire } from "../../../src/jsonrpc/wire.js";
import { Session, type SessionParts } from "../../../src/mcp/sessions/session.js";
import { toolsOf } from "../../../src/mcp/tools/sets.js";
import type { ToolSetName } from "../../../src/mcp/tools/tool.js";
import { type OpenedAgent, Tools, type ToolsParts } from "../../../src/mcp/tools/tools.js";
import { Changes } from "../changes.js";
import { isRecord, valueAt } from "../scenarios/scenario.js";
import { MemoryAgent } from "./memoryAgent.js";
import { memoryWires } from "./memoryWires.js";

export type Received = Readonly<Record<string, unknown>>;

export interface MemorySessionOptions {
  /** The folder of an earlier session, to continue with. */
  readonly codexHome?: string;
  /** An agent shared with other sessions; otherwise the session has its own. */
  readonly agent?: MemoryAgent;
  readonly parts?: Partial<SessionParts>;
  readonly sets?: readonly ToolSetName[];
  /** In place of the agent's own. */
  readonly open?: () => Promise<OpenedAgent>;
  /** As `--events`. */
  readonly events?: ToolsParts["events"];
  /** As `mcp_server.result_tokens`. */
  readonly resultTokens?: number;
  /** The environment of the server, as tools see it. */
  readonly env?: ToolsParts["env"];
  readonly codexHelp?: ToolsParts["codexHelp"];
}

/** A client and a real session connected in memory: the scripted engine, rollouts in their own folder, no process and no socket. */
export class MemorySession implements AsyncDisposable {
  readonly session: Session;
  readonly agent: MemoryAgent;
  /** Everything the server sent, in order. */
  readonly received: Received[] = [];
  readonly #ownsAgent: boolean;
  readonly #wire: Wire;
  readonly #running: Promise<unknown>;
  readonly #changes = new Changes();
  #lastId = 100;

  constructor({ codexHome, agent, parts, sets = ["codex"], open, events, resultTokens, env, codexHelp }: MemorySessionOptions = {}) {
    this.agent = agent ?? new MemoryAgent(codexHome === undefined ? {} : { codexHome });
    this.#ownsAgent = agent === undefined;
    const [near, far] = memoryWires();
    this.#wire = far;
    this.session = new Session(near, {
      engine: "scripted",
      env: { TERM: "xterm" },
      tools: new Tools({
        tools: toolsOf(sets, env),
        env,
        codexHelp,
        objection: callersInside,
        events,
        resultTokens,
        open: open ?? (async () => this.agent.open),
      }),
      welcomed: () => {},
      report: (line) => this.agent.reported.push(line),
      ...parts,
    });
    this.#running = Promise.all([this.session.run(near.incoming), this.#read(far)]);
  }

  get codexHome(): string {
    return this.agent.codexHome;
  }

  get reported(): readonly string[] {
    return this.agent.reported;
  }

  send(...messages: readonly unknown[]): void {
    for (const message of messages) this.#wire.send(JSON.stringify(message));
  }

  /** The whole answer to a request. */
  async request(method: string, params?: unknown, id: RequestId = ++this.#lastId): Promise<Received> {
    this.send({ jsonrpc: "2.0", id, method, params });
    return this.answerTo(id);
  }

  answerTo(id: RequestId): Promise<Received> {
    return this.until(() => this.received.find((message) => message["id"] === id && !("method" in message)));
  }

  initialize(protocolVersion = "2025-11-25", name = "test"): Promise<Received> {
    return this.request("initialize", { protocolVersion, capabilities: {}, clientInfo: { name, version: "1.0.0" } });
  }

  /** The result of a call. */
  async call(name: string, args: unknown, id?: RequestId): Promise<unknown> {
    return (await this.request("tools/call", { name, arguments: args }, id))["result"];
  }

  /** The result of `look`, which is called again after each message. */
  until<T>(look: () => T | undefined): Promise<T> {
    return this.#changes.until(look);
  }

  /** Answers every question from now on with this. Returns the growing list of questions. */
  answerQuestions(result: unknown): readonly unknown[] {
    const asked: unknown[] = [];
    this.#changes.follow(() => {
      const questions = this.received.filter(({ method }) => method === "elicitation/create");
      for (const { id, params } of questions.slice(asked.length)) {
        asked.push(params);
        this.send({ jsonrpc: "2.0", id, result });
      }
    });
    return asked;
  }

  /** Resolves with the first event of this type that belongs to this call. */
  untilEvent(type: string, requestId: RequestId): Promise<Received> {
    return this.until(() => this.eventsOf(requestId).find((msg) => msg["type"] === type));
  }

  /** The `msg` of every event of a call. */
  eventsOf(requestId: RequestId): Received[] {
    return this.received
      .filter((message) => message["method"] === "codex/event" && valueAt(message, "params._meta.requestId") === requestId)
      .map((message) => valueAt(message, "params.msg"))
      .filter(isRecord);
  }

  eventTypesOf(requestId: RequestId): unknown[] {
    return this.eventsOf(requestId).map(({ type }) => type);
  }

  /** The parameters of every notification of this method. */
  notified(method: string): unknown[] {
    return this.received.filter((message) => message["method"] === method).map(({ params }) => params);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.session.close(new Error("the test is over"));
    if (this.#ownsAgent) await this.agent[Symbol.asyncDispose]();
    await this.#wire.close();
    await this.#running;
  }

  async #read(wire: Wire): Promise<void> {
    for await (const frame of wire.incoming) {
      const message: unknown = "text" in frame ? JSON.parse(frame.text) : frame;
      if (isRecord(message)) this.received.push(message);
      this.#changes.note();
    }
  }
}

/** The id of the thread that a result is about. */
export function threadOf(result: unknown): string {
  return String(valueAt(result, "structuredContent.threadId"));
}
