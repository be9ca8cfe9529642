import { randomBytes } from "node:crypto";
import type { RequestId } from "../../../jsonrpc/message.js";
import type { SentMessage } from "./replayBuffer.js";

/** The socket side of a stream: encodes messages as bytes. */
export interface StreamSink {
  /** Writes messages to the socket. Returns false if it should get no more until it has drained (see `Streams.drained`). */
  write(messages: readonly SentMessage[], streamName: string): boolean;
  /** Sends a keep-alive, which is not a message. */
  keepAlive(): void;
  /** Closes the connection gracefully, or immediately if the peer does not read. */
  end(how: "gracefully" | "immediately"): void;
}

/**
 * `everything`: all messages of the session, responses included. `own`: the messages about one POST, up to its response. `shared`: messages
 * that belong to no stream of a POST; each goes to one shared stream.
 */
export type StreamKind = "everything" | "own" | "shared";

export interface StreamOptions {
  readonly name: string;
  readonly kind: StreamKind;
  readonly sink: StreamSink;
  /** The last number that the client has seen. */
  readonly after: number;
  /** The stream ends when this request has its response. */
  readonly until?: RequestId;
}

/** One open connection that sends messages of a session, with its own position. */
export class Stream {
  readonly name: string;
  readonly kind: StreamKind;
  readonly sink: StreamSink;
  readonly until: RequestId | undefined;
  cursor: number;
  /** Since when the socket's buffer is full. */
  blockedSince: number | undefined;
  /** Messages that arrived while the stream was blocked. */
  waiting = 0;
  /** Their length, without deltas. */
  waitingLength = 0;
  /** The stream was closed because the client did not read; the client may reconnect. */
  disconnected = false;
  /** Deltas up to this number are dropped: the client is too far behind. */
  skipDeltasUpTo = 0;

  constructor({ name, kind, sink, after, until }: StreamOptions) {
    this.name = name;
    this.kind = kind;
    this.sink = sink;
    this.cursor = after;
    this.until = until;
  }

  carries({ route, answer }: SentMessage): boolean {
    switch (this.kind) {
      case "everything":
        return true;
      case "own":
        return route === this.name;
      case "shared":
        return route === this.name || (route === undefined && !answer);
    }
  }

  endsWith({ answer, request }: SentMessage): boolean {
    return answer && request !== undefined && (request === this.until || this.kind === "own");
  }
}

/** A client's last position on a stream. */
export interface StreamPlace {
  readonly name: string;
  readonly kind: StreamKind;
  readonly seq: number;
}

const LETTERS: Readonly<Record<StreamKind, string>> = { everything: "a", own: "p", shared: "g" };
/** The suffix after the third part is for servers that do not know the session; see `callMarkText`. */
const EVENT_ID = /^([0-9a-f]{8})\.([apg]\d*)\.(\d{1,15})(?:\.[\w-]{1,128}(?:\.[0-9a-f-]{36})?)?$/;

/** The names of one session's streams, and the ids of their events. */
export class StreamNames {
  /** Distinguishes this session's event ids from those of other sessions. */
  readonly #tag = randomBytes(4).toString("hex");
  #last = 0;

  /** The name of a new stream. All streams of the kind `everything` share one name. */
  next(kind: StreamKind): string {
    return kind === "everything" ? LETTERS.everything : `${LETTERS[kind]}${++this.#last}`;
  }

  eventId(name: string, seq: number): string {
    return `${this.#tag}.${name}.${seq}`;
  }

  /** Undefined if the id does not belong to this session. */
  placeOf(eventId: string): StreamPlace | undefined {
    const [, tag, name = "", seq] = EVENT_ID.exec(eventId) ?? [];
    if (tag !== this.#tag) return undefined;
    const kind = KINDS.find((candidate) => name.startsWith(LETTERS[candidate]));
    return kind && { name, kind, seq: Number(seq) };
  }
}

const KINDS: readonly StreamKind[] = ["everything", "own", "shared"];
