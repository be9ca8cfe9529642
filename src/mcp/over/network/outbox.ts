import { isRequestId, jsonText, parseJson, type RequestId, resultText } from "../../../jsonrpc/message.js";
import type { DeliveryHints, Outlet } from "../../../jsonrpc/wire.js";
import { isFields } from "../../../lib/fields.js";
import { lostCall } from "../../wording/callResult.js";
import { ReplayBuffer } from "./replayBuffer.js";
import { StreamNames, type StreamPlace } from "./stream.js";
import { type DeliveryCounts, type StreamLimits, Streams } from "./streams.js";

export interface OutboxLimits extends StreamLimits {
  /** Bytes kept of completed requests, for a client that lost their last messages. */
  readonly answeredBytes: number;
}

/** A POST that waits for the response to its request. */
export interface Exchange {
  readonly ids: readonly RequestId[];
  /** Whether its client is still connected. */
  readonly isOpen: boolean;
  /** The stream of all messages about the request; undefined if they go to the session's streams. */
  readonly stream: string | undefined;
  /** Called when a message about the request precedes the response. */
  spoken(): void;
  /** Returns true if it sent the response itself, as the HTTP body. */
  answered(text: string, about: DeliveryHints): boolean;
  /** Called when the session ends without a response. */
  givenUp(): void;
}

/**
 * All outgoing messages of one session. Numbers them, routes them to the POST they belong to or to the session's streams, and keeps them as
 * long as a client may ask for them again.
 */
export class Outbox implements Outlet {
  readonly answersCancelled: boolean;
  readonly counts: DeliveryCounts = { sent: 0, dropped: 0, disconnected: 0 };
  readonly names = new StreamNames();
  /** The open streams. */
  readonly streams: Streams;
  readonly #replay: ReplayBuffer;
  readonly #exchanges = new Map<RequestId, Exchange>();
  /** Call marks to append to event ids, until the call has its response. */
  readonly #marks = new Map<RequestId, string>();
  /** For WebSocket: calls arrive on the same socket as everything else, not in a POST each. */
  readonly #marksEveryCall: boolean;
  #lastAnsweredAt = 0;
  #state: "open" | "closed" = "open";

  constructor(
    limits: OutboxLimits,
    { answersCancelled, marksEveryCall = false }: { readonly answersCancelled: boolean; readonly marksEveryCall?: boolean },
  ) {
    this.answersCancelled = answersCancelled;
    this.#marksEveryCall = marksEveryCall;
    this.#replay = new ReplayBuffer({ total: limits.replayBytes, answered: limits.answeredBytes });
    this.streams = new Streams(this.#replay, limits, this.counts);
  }

  get keptBytes(): number {
    return this.#replay.weight;
  }

  /** Whether a connected client waits for a response. */
  get isAwaited(): boolean {
    for (const { isOpen } of this.#exchanges.values()) if (isOpen) return true;
    return false;
  }

  /** When a connected client last got a response; milliseconds since 1970, 0 for never. */
  get lastAnsweredAt(): number {
    return this.#lastAnsweredAt;
  }

  send(text: string, about: DeliveryHints = {}): void {
    if (this.#state === "closed") return;
    this.counts.sent++;
    const exchange = about.relatedTo === undefined ? undefined : this.#exchanges.get(about.relatedTo);
    const answer = about.answer !== undefined;
    if (answer && about.relatedTo !== undefined) this.#marks.delete(about.relatedTo);
    if (answer && exchange) {
      if (exchange.isOpen) this.#lastAnsweredAt = Date.now();
      for (const id of exchange.ids) {
        this.#exchanges.delete(id);
        this.#marks.delete(id);
        this.#replay.finish(id);
      }
      if (exchange.answered(text, about) && !this.streams.wantEverything) return;
    }
    this.#keep(text, about, exchange?.stream);
    if (!answer) exchange?.spoken();
  }

  /** Marks the events of a call with its request id and thread, so that a client can come back for it to another server. */
  concerns(id: RequestId, thread?: string): void {
    if (this.#state === "open" && (this.#marksEveryCall || this.#exchanges.has(id)))
      this.#marks.set(id, callMarkText({ requestId: id, thread }));
  }

  /** The id of an event on a stream. Without a message, the position before the next event. */
  eventId(streamName: string, { seq, request }: { readonly seq: number; readonly request: RequestId | undefined }): string {
    const mark = request === undefined ? "" : (this.#marks.get(request) ?? "");
    return `${this.names.eventId(streamName, seq)}${mark}`;
  }

  /** The id of a message on a socket that carries all messages; undefined unless a marked call is open. */
  socketEventId(seq: number): string | undefined {
    return this.#marks.size === 0 ? undefined : socketEventId(seq, this.#marks.values());
  }

  unanswered(id: RequestId): void {
    this.#marks.delete(id);
    this.#replay.finish(id);
  }

  congested(): Promise<void> | undefined {
    return this.streams.congested();
  }

  async close(): Promise<void> {
    if (this.#state === "closed") return;
    this.streams.handOver();
    this.#state = "closed";
    for (const exchange of this.#exchanges.values()) exchange.givenUp();
    this.#exchanges.clear();
    this.#marks.clear();
    this.streams.close();
  }

  /** Routes messages about these requests to this POST. */
  expect(exchange: Exchange): void {
    for (const id of exchange.ids) {
      this.#exchanges.set(id, exchange);
      this.#replay.begin(id);
    }
  }

  /** Whether a POST waits for the response to this request id. */
  isExpected(id: RequestId): boolean {
    return this.#exchanges.has(id);
  }

  /** Whether a client may have seen this message number; 0 stands for none. */
  hasSent(seq: number): boolean {
    return Number.isSafeInteger(seq) && seq >= 0 && seq <= this.#replay.lastSeq;
  }

  /** The position of an event id; undefined if this session did not issue the id. */
  placeOf(eventId: string): StreamPlace | undefined {
    const place = this.names.placeOf(eventId);
    return place && this.hasSent(place.seq) ? place : undefined;
  }

  /** Whether further messages about a POST may follow, or kept ones are still unread. */
  hasMoreFor(name: string, seq: number): boolean {
    for (const exchange of this.#exchanges.values()) if (exchange.stream === name) return true;
    for (const { route } of this.#replay.after(seq)) if (route === name) return true;
    return false;
  }

  /** Regular maintenance: keep-alives, unread streams, expired messages. */
  tick(options: { readonly now: number; readonly keepAlive: boolean; readonly retainMs: number }): void {
    this.streams.tick(options);
    this.#replay.settle(this.streams.delivered);
    this.#replay.forgetBefore(options.now - options.retainMs);
  }

  #keep(text: string, about: DeliveryHints, route: string | undefined): void {
    const { relatedTo, answer, deltaOf, whole, passing = false } = about;
    const message = {
      seq: this.#replay.nextSeq(),
      text,
      keptAt: Date.now(),
      route,
      carried: false,
      request: relatedTo,
      answer: answer !== undefined,
      deltaOf,
      whole,
      passing,
    };
    this.counts.dropped += this.#replay.add(message, this.streams.delivered);
    this.streams.added(message);
  }
}

/** The part of an event id that identifies its call to a server without any other knowledge of it. */
export interface CallMark {
  readonly requestId: RequestId;
  /** The thread of the call, once it is known. */
  readonly thread?: string | undefined;
}

/** Longer request ids are not repeated in every event id. */
const MAX_REQUEST_LENGTH = 96;
const MARK = /^[^.]*\.[^.]*\.[^.]*\.([A-Za-z0-9_-]{1,128})(?:\.([0-9a-f-]{36}))?$/;

/** The suffix of an event id; empty if the request cannot be named. */
export function callMarkText({ requestId, thread }: CallMark): string {
  const request = jsonText({ id: requestId });
  if (request.length > MAX_REQUEST_LENGTH) return "";
  return `.${Buffer.from(request).toString("base64url")}${thread === undefined ? "" : `.${thread}`}`;
}

/** The call that an event id of any server names, if any. */
export function callIn(eventId: string): CallMark | undefined {
  const [, encoded, thread] = MARK.exec(eventId) ?? [];
  if (encoded === undefined) return undefined;
  const requestId = idIn(Buffer.from(encoded, "base64url").toString("utf8"));
  return isRequestId(requestId) ? { requestId, thread } : undefined;
}

/** Separates the marks of several calls; no mark contains it. */
const NEXT_MARK = "~";
/** A socket carries all calls of a session. Each message names at most this many, the newest ones. */
const MOST_MARKS = 4;

/** The id of a message on a socket: its number and the marks of the open calls. */
export function socketEventId(seq: number, marks: Iterable<string>): string {
  return [String(seq), ...[...marks].filter((mark) => mark !== "").slice(-MOST_MARKS)].join(NEXT_MARK);
}

/** The number in such an id, or in a bare number; NaN if it is neither. */
export function numberInSocketId(eventId: string): number {
  return Number(eventId.split(NEXT_MARK, 1)[0]);
}

/** The calls that such an id of any server names. */
export function callsInSocketId(eventId: string): readonly CallMark[] {
  const [, ...marks] = eventId.split(NEXT_MARK, 1 + MOST_MARKS);
  return marks.flatMap((mark) => callIn(`socket.everything.0${mark}`) ?? []);
}

/** A client can send any event id. */
function idIn(text: string): unknown {
  try {
    const named = parseJson(text);
    return isFields(named) ? named["id"] : undefined;
  } catch {
    return undefined;
  }
}

/** The response to a call that has ended, for a client that reconnects to a server that did not run it. */
export function lostAnswer({ requestId, thread }: CallMark): string {
  return resultText(requestId, lostCall(thread));
}
