import { randomUUID } from "node:crypto";
import type { Agent, Ask } from "../../agent/agent.js";
import { checkScope } from "../../agent/caller.js";
import { CallCancelled } from "../../agent/errors.js";
import { beginCallTrail } from "../../agent/watch/turnWatch.js";
import { RPC, RpcError } from "../../jsonrpc/errors.js";
import type { IncomingRequest, JsonRpcPeer } from "../../jsonrpc/peer.js";
import type { ThreadId } from "../../lib/ids.js";
import { Tasks } from "../../lib/promises.js";
import type { Telemetry } from "../../observability/telemetry.js";
import type { Turn } from "../../threads/turn.js";
import type { CodexMethod, MethodClient } from "../surface/method.js";
import { asRefusal, noSuchMethod, notFound } from "../surface/refusals.js";
import { ApprovalRequests, type AskedClients } from "./approvalRequests.js";
import { Listener } from "./listener.js";

/** Each listener needs a reader of the feed. */
const MOST_LISTENERS = 256;
/** The number of conversations whose start is remembered for their first listener. */
const MOST_UNHEARD = 1_024;

export interface FrontEndParts {
  readonly agent: Agent;
  readonly telemetry: Telemetry;
  readonly peer: Pick<JsonRpcPeer, "notify" | "request" | "congested">;
  readonly caller: Ask["caller"];
  readonly methods: ReadonlyMap<string, CodexMethod>;
  readonly asked: AskedClients;
  /** The server's user agent for this client. */
  readonly userAgent: () => string;
  /** Notifies every client with the scope `manage`. */
  readonly notifyAll: (method: string, params: unknown) => void;
  readonly closed: (frontEnd: FrontEnd) => void;
}

/** The messages to one conversation that have not started a turn yet, one after another. */
interface Line {
  /** The end of the last one. Never rejects. */
  readonly last: Promise<unknown>;
  /** Withdraws all of them. */
  readonly abort: AbortController;
}

/** One client of this surface: its listeners, and its messages that have not started a turn yet. */
export class FrontEnd implements MethodClient {
  readonly #parts: FrontEndParts;
  readonly #approvals: ApprovalRequests;
  readonly #listeners = new Map<string, Listener>();
  readonly #listening = new Tasks(() => undefined);
  /** The feed's position when a conversation was created, until its first listener. */
  readonly #unheard = new Map<ThreadId, string>();
  /** The messages to each conversation that have not been delivered yet. */
  readonly #sending = new Map<ThreadId, Line>();
  #isClosed = false;

  constructor(parts: FrontEndParts) {
    this.#parts = parts;
    this.#approvals = new ApprovalRequests(parts);
  }

  get userAgent(): string {
    return this.#parts.userAgent();
  }

  get caller(): Ask["caller"] {
    return this.#parts.caller;
  }

  has(method: string): boolean {
    return this.#parts.methods.has(method);
  }

  async answer({ id, method: name, params, signal }: IncomingRequest): Promise<unknown> {
    const { agent, telemetry, caller, methods } = this.#parts;
    const method = methods.get(name);
    if (!method) throw noSuchMethod(name);
    const trail = beginCallTrail(name, { requestId: id, caller, signal, isMethod: true }, telemetry);
    let beganTurn = false;
    const watchTurn = (turn: Turn) => {
      beganTurn = true;
      return trail.watchTurn(turn);
    };
    const later: (() => void)[] = [];
    try {
      checkScope(caller, method.scope);
      const context = { agent, ask: { caller, signal, watchTurn }, client: this, afterwards: (tell: () => void) => later.push(tell) };
      const result = await method.call(params, context);
      if (!beganTurn) trail.ended({});
      // The response is sent as soon as this returns.
      if (later.length > 0) setImmediate(() => later.splice(0).map((tell) => tell()));
      return result;
    } catch (error) {
      if (!beganTurn) trail.failed(error);
      throw asRefusal(error);
    }
  }

  notify(method: string, params: unknown): void {
    this.#parts.peer.notify(method, params, { passing: true });
  }

  notifyAll(method: string, params: unknown): void {
    this.#parts.notifyAll(method, params);
  }

  begins(id: ThreadId, cursor: string): void {
    this.#unheard.set(id, cursor);
    const [oldest] = this.#unheard.keys();
    if (this.#unheard.size > MOST_UNHEARD && oldest !== undefined) this.#unheard.delete(oldest);
  }

  async listen(threadId: ThreadId, { raw }: { readonly raw: boolean }): Promise<string> {
    const { agent, peer, caller } = this.#parts;
    if (this.#listeners.size >= MOST_LISTENERS)
      throw new RpcError(RPC.invalidRequest, `this client has ${MOST_LISTENERS} listeners already: remove one first`);
    const listener = new Listener({ threadId, peer, approvals: this.#approvals, raw });
    const batches = await agent.follow({ caller, signal: listener.signal }, threadId, { since: this.#unheard.get(threadId) });
    this.#unheard.delete(threadId);
    const id = randomUUID();
    this.#listeners.set(id, listener);
    if (this.#isClosed) listener.stop();
    // The response goes first: earlier events would belong to a subscription that the client does not know yet.
    this.#listening.start(`listener ${id}`, async () => {
      await new Promise((resolve) => setImmediate(resolve));
      try {
        await listener.run(batches);
      } finally {
        this.#listeners.delete(id);
      }
    });
    return id;
  }

  unlisten(id: string): void {
    const listener = this.#listeners.get(id.toLowerCase());
    if (!listener || listener.isMuted) throw notFound("subscription", id);
    listener.mute();
  }

  turnEndSent({ threadId, key }: Pick<Turn, "threadId" | "key">): Promise<unknown> {
    const listeners = [...this.#listeners.values()].filter((listener) => listener.threadId === threadId);
    return Promise.all(listeners.map((listener) => listener.turnEndSent(key)));
  }

  async send(threadId: ThreadId, ask: Ask, begin: (ask: Ask) => Promise<Turn | undefined>): Promise<void> {
    const { last, abort } = this.#sending.get(threadId) ?? { last: Promise.resolve(), abort: new AbortController() };
    const signal = AbortSignal.any([ask.signal, abort.signal]);
    const sent = last.then(async () => {
      if (signal.aborted) throw new CallCancelled("The conversation was interrupted before this message started a turn.");
      const turn = await begin({ ...ask, signal });
      if (turn) this.#parts.asked.begun(turn.key, turn.outcome);
    });
    this.#keepLine(threadId, { last: sent.catch(() => undefined), abort });
    await sent;
  }

  async halt(threadId: ThreadId, stop: (withdrawn: Promise<unknown>) => Promise<void>): Promise<void> {
    const before = this.#sending.get(threadId);
    before?.abort.abort(new CallCancelled());
    const stopped = stop(before?.last ?? Promise.resolve());
    this.#keepLine(threadId, { last: stopped.catch(() => undefined), abort: new AbortController() });
    await stopped;
  }

  #keepLine(threadId: ThreadId, line: Line): void {
    this.#sending.set(threadId, line);
    void line.last.then(() => {
      if (this.#sending.get(threadId) === line) this.#sending.delete(threadId);
    });
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const listener of this.#listeners.values()) listener.stop();
    this.#listeners.clear();
    this.#parts.closed(this);
    void this.#approvals.close();
  }
}
