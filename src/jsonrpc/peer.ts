// Long because both directions of a peer share their ids, their limits and their end.
import { type Deferred, deferred } from "../lib/promises.js";
import { RPC, RpcError } from "./errors.js";
import {
  errorText,
  type Message,
  notificationText,
  parseMessage,
  type RequestId,
  type RequestMessage,
  type ResponseMessage,
  requestText,
  resultText,
} from "./message.js";
import type { DeliveryHints, Frame, Outlet } from "./wire.js";

/** How the owner of a peer handles incoming messages. */
export interface PeerRole {
  /** Returns the result or a promise of it, or throws an RpcError. The signal aborts when the request is cancelled or the peer closes. */
  answer(request: IncomingRequest): unknown;
  notified(method: string, params: unknown): void;
  /** Called for input that is not a message; `reason` is for the log. */
  unreadable(reason: string): void;
  /** Called when a method fails unexpectedly. Returns the message for the other side. */
  failed(method: string, error: unknown): string;
}

export interface PeerLimits {
  /** The maximum number of concurrent requests from the other side. */
  readonly incoming?: number | undefined;
}

export interface RequestOptions {
  /** Stops waiting. */
  readonly signal?: AbortSignal;
  /** The notification that withdraws the request when the signal aborts. */
  readonly withdrawWith?: string;
  readonly relatedTo?: RequestId;
}

export interface IncomingRequest {
  readonly id: RequestId;
  readonly method: string;
  readonly params: unknown;
  readonly signal: AbortSignal;
}

/** The default maximum of concurrent requests from the other side. Further ones are refused, so that memory stays bounded. */
const MAX_INCOMING_IN_FLIGHT = 1024;
/** The maximum number of our own requests that wait for a response. */
const MAX_OUTGOING_IN_FLIGHT = 1024;

/** Both directions of JSON-RPC with one counterpart: correlation, cancellation, and settling everything on close. */
export class JsonRpcPeer {
  /** Why batches are refused; undefined if the negotiated protocol has them. */
  batchObjection: string | undefined = "batches are not served here";

  #state: { readonly at: "open" } | { readonly at: "closed"; readonly reason: Error } = { at: "open" };
  #nextId = 0;
  readonly #asked = new Map<RequestId, Deferred<unknown>>();
  readonly #serving = new Map<RequestId, ServedRequest>();
  /**
   * Cancelled requests that are still running. Their ids are free: a new request with the same id is served after the old one has ended.
   */
  readonly #leaving = new Map<ServedRequest, Deferred<void>>();
  #idle: Deferred<void> | undefined;
  #interrupted: Error | undefined;

  readonly #outlet: Outlet;
  readonly #role: PeerRole;
  readonly #limits: PeerLimits;

  constructor(outlet: Outlet, role: PeerRole, limits: PeerLimits = {}) {
    this.#outlet = outlet;
    this.#role = role;
    this.#limits = limits;
  }

  /** Reads until the other side closes. Responses to running requests can still be sent afterwards. */
  async run(incoming: AsyncIterable<Frame>): Promise<void> {
    for await (const frame of incoming) {
      if ("text" in frame) this.receive(parseMessage(frame.text));
      else this.#refuseLongFrame(frame.tooLongBytes);
    }
  }

  /** For transports that parse a message before they know its session. */
  receive(parsed: Message | readonly Message[]): void {
    if (this.#state.at === "closed") return;
    if (isBatch(parsed)) return this.#receiveBatch(parsed);
    this.#take(parsed, (text, about) => {
      if (text !== undefined) this.#outlet.send(text, about);
    });
  }

  /** The number of requests from the other side in progress. */
  get servingCount(): number {
    return this.#serving.size + this.#leaving.size;
  }

  async request(method: string, params: unknown, options: RequestOptions = {}): Promise<unknown> {
    if (this.#state.at === "closed") throw this.#state.reason;
    options.signal?.throwIfAborted();
    if (this.#asked.size >= MAX_OUTGOING_IN_FLIGHT)
      throw new RpcError(RPC.busy, `${MAX_OUTGOING_IN_FLIGHT} requests wait for an answer already`);
    const id = this.#nextId++;
    const waiting = deferred<unknown>();
    this.#asked.set(id, waiting);
    const abort = () => {
      waiting.reject(options.signal?.reason);
      if (options.withdrawWith !== undefined) this.notify(options.withdrawWith, { requestId: id });
    };
    options.signal?.addEventListener("abort", abort, { once: true });
    try {
      this.#outlet.send(requestText(id, method, params), options.relatedTo === undefined ? {} : { relatedTo: options.relatedTo });
      return await waiting.promise;
    } finally {
      this.#asked.delete(id);
      options.signal?.removeEventListener("abort", abort);
    }
  }

  concerns(id: RequestId, subject?: string): void {
    this.#outlet.concerns?.(id, subject);
  }

  notify(method: string, params: unknown, about?: DeliveryHints): void {
    this.notifyText(notificationText(method, params), about);
  }

  /** For frequent notifications, whose text is built without an object. */
  notifyText(text: string, about?: DeliveryHints): void {
    if (this.#state.at === "open") this.#outlet.send(text, about);
  }

  congested(): Promise<void> | undefined {
    return this.#outlet.congested();
  }

  /** Aborts a request of the other side. It gets no response, unless the transport requires one. Returns false if no such request runs. */
  cancel(id: RequestId, reason: Error): boolean {
    const served = this.#serving.get(id);
    if (!served) return false;
    served.silenced = this.#outlet.answersCancelled !== true;
    if (served.silenced) {
      this.#serving.delete(id);
      this.#leaving.set(served, deferred<void>());
    }
    served.abort(reason);
    return true;
  }

  /** Aborts every request of the other side, and by default those still to come. Each still gets a response. */
  interrupt(reason: Error, { later = true }: { readonly later?: boolean } = {}): void {
    if (later) this.#interrupted = reason;
    for (const served of this.#serving.values()) served.abort(reason);
  }

  /** Resolves when no request of the other side is in progress. */
  idle(): Promise<void> {
    if (this.servingCount === 0) return Promise.resolve();
    this.#idle ??= deferred<void>();
    return this.#idle.promise;
  }

  /** Rejects our pending requests and aborts those we serve. Nothing is sent afterwards. Closing twice is harmless. */
  close(reason: Error): void {
    if (this.#state.at === "closed") return;
    this.#state = { at: "closed", reason };
    for (const waiting of this.#asked.values()) waiting.reject(reason);
    this.#asked.clear();
    for (const served of this.#serving.values()) served.abort(reason);
  }

  #take(message: Message, respond: Respond): void {
    switch (message.kind) {
      case "request":
        return this.#serve(message, respond);
      case "notification":
        return this.#role.notified(message.method, message.params);
      case "response":
        return this.#settle(message);
      case "unreadable":
        this.#role.unreadable(message.reason);
        if (message.answer) respond(errorText(message.answer.id, message.answer.error), { passing: true });
    }
  }

  #refuseLongFrame(bytes: number): void {
    if (this.#state.at === "closed") return;
    this.#role.unreadable(`a message of ${bytes} characters was refused`);
    this.#outlet.send(
      errorText(null, new RpcError(RPC.invalidRequest, `Message refused: ${bytes} characters exceed this server's limit for one message`)),
      { passing: true },
    );
  }

  /** The response to a batch is one array, sent when its last request is done. */
  #receiveBatch(messages: readonly Message[]): void {
    const objection = messages.length === 0 ? "an empty batch" : this.batchObjection;
    if (objection !== undefined) {
      this.#role.unreadable("a batch, which the negotiated protocol does not have");
      return this.#outlet.send(errorText(null, new RpcError(RPC.invalidRequest, `Invalid request: ${objection}`)), { passing: true });
    }
    const expected = messages.filter((message) => message.kind === "request" || (message.kind === "unreadable" && message.answer));
    const first = expected.find((message) => message.kind === "request");
    const answers: string[] = [];
    let outstanding = expected.length;
    const collect: Respond = (text) => {
      if (text !== undefined) answers.push(text);
      if (--outstanding > 0 || answers.length === 0 || this.#state.at === "closed") return;
      this.#outlet.send(`[${answers.join(",")}]`, first ? { relatedTo: first.id, answer: "given" } : {});
    };
    for (const message of messages) this.#take(message, collect);
  }

  #serve(request: RequestMessage, respond: Respond): void {
    const refusal = this.#refusal(request.id);
    if (refusal) return respond(errorText(request.id, refusal), { relatedTo: request.id, answer: answerKind(refusal) });
    const { id, method } = request;
    const served = new ServedRequest(request);
    this.#serving.set(id, served);
    if (this.#interrupted) served.abort(this.#interrupted);
    const finish = (text: string, answer: DeliveryHints["answer"]) => {
      const left = this.#leaving.get(served);
      if (left) this.#leaving.delete(served);
      else this.#serving.delete(id);
      left?.resolve();
      if (this.servingCount === 0) this.#becomeIdle();
      const silent = served.silenced || this.#state.at === "closed";
      if (served.silenced && !this.#serving.has(id)) this.#outlet.unanswered?.(id);
      respond(silent ? undefined : text, { relatedTo: id, answer });
    };
    const give = (result: unknown) => finish(resultText(id, result), "given");
    const refuse = (error: unknown) => {
      const told = this.#toRpcError(method, error);
      finish(errorText(id, told), answerKind(told));
    };
    try {
      const before = [...this.#leaving].find(([other]) => other.id === id);
      const result = before ? before[1].promise.then(() => this.#role.answer(served)) : this.#role.answer(served);
      if (result instanceof Promise) result.then(give, refuse);
      else give(result);
    } catch (error) {
      refuse(error);
    }
  }

  #becomeIdle(): void {
    this.#idle?.resolve();
    this.#idle = undefined;
  }

  #refusal(id: RequestId): RpcError | undefined {
    if (this.#serving.has(id)) return new RpcError(RPC.invalidRequest, "a request with this id is already in flight");
    const { incoming = MAX_INCOMING_IN_FLIGHT } = this.#limits;
    if (this.servingCount >= incoming) return new RpcError(RPC.busy, `${incoming} requests are in flight; wait for an answer`);
    return undefined;
  }

  #toRpcError(method: string, error: unknown): RpcError {
    if (error instanceof RpcError) return error;
    return new RpcError(RPC.internalError, this.#role.failed(method, error));
  }

  #settle({ id, outcome }: ResponseMessage): void {
    const waiting = this.#asked.get(id);
    if (!waiting) return;
    if ("error" in outcome) waiting.reject(outcome.error);
    else waiting.resolve(outcome.result);
  }
}

/** Takes one response as text; undefined if there is none. */
type Respond = (text: string | undefined, about?: DeliveryHints) => void;

/** A request of the other side in progress. */
class ServedRequest implements IncomingRequest {
  readonly id: RequestId;
  readonly method: string;
  readonly params: unknown;
  /** The request was cancelled, so nothing more may be sent about it. */
  silenced = false;
  #abort: AbortController | undefined;

  constructor({ id, method, params }: RequestMessage) {
    this.id = id;
    this.method = method;
    this.params = params;
  }

  /** Created on demand: an AbortController is expensive and most requests never need one. */
  get signal(): AbortSignal {
    this.#abort ??= new AbortController();
    return this.#abort.signal;
  }

  abort(reason: Error): void {
    this.#abort ??= new AbortController();
    this.#abort.abort(reason);
  }
}

function answerKind({ code }: RpcError): NonNullable<DeliveryHints["answer"]> {
  return code === RPC.busy ? "busy" : "given";
}

function isBatch(parsed: Message | readonly Message[]): parsed is readonly Message[] {
  return Array.isArray(parsed);
}
