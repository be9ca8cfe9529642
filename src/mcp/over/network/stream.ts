import { randomBytes } from "node:crypto";
import type { RequestId } from "../../../jsonrpc/message.js";
import type { SentMessage } from "./replayBuffer.js";

/** The socket's side of a stream: how messages become bytes. */
export interface StreamSink {
  /** Hands messages to the socket; false when it should get no more until it has drained (see `Streams.drained`). */
  write(messages: readonly SentMessage[], streamName: string): boolean;
  /** A sign of life that is no message. */
  keepAlive(): void;
  /** Ends the connection: politely, or at once when the other side does not read. */
  end(how: "politely" | "at once"): void;
}

/**
 * `everything`: all messages of the session, answers included. `own`: those about one POST, until its answer.
 * `shared`: what is about no POST that has a stream of its own; each of those goes to one such stream.
 */
export type StreamKind = "everything" | "own" | "shared";

export interface StreamOptions {
  readonly name: string;
  readonly kind: StreamKind;
  readonly sink: StreamSink;
  /** The last number the client has seen. */
  readonly after: number;
  /** The stream is over once this request is answered. */
  readonly until?: RequestId;
}

/** One open connection that carries messages of a session, at its own place in them. */
export class Stream {
  readonly name: string;
  readonly kind: StreamKind;
  readonly sink: StreamSink;
  readonly until: RequestId | undefined;
  cursor: number;
  /** The socket has enough for now, since this moment. */
  blockedSince: number | undefined;
  /** Messages that came for it while it was blocked. */
  waiting = 0;
  /** It was ended because nobody read it; its client may come back. */
  disconnected = false;
  /** Pieces up to this number are left out: the client is too far behind. */
  skipPiecesUpTo = 0;

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

/** Where a client left a stream. */
export interface StreamPlace {
  readonly name: string;
  readonly kind: StreamKind;
  readonly seq: number;
}

const LETTERS: Readonly<Record<StreamKind, string>> = { everything: "a", own: "p", shared: "g" };
/** What follows the third part is for servers that do not know the session; see `callMarks.ts`. */
const EVENT_ID = /^([0-9a-f]{8})\.([apg]\d*)\.(\d{1,15})(?:\.[\w-]{1,128}(?:\.[0-9a-f-]{36})?)?$/;

/** The names of one session's streams, and the ids of the events on them. */
export class StreamNames {
  /** Tells this session's event ids from those of any other. */
  readonly #tag = randomBytes(4).toString("hex");
  #last = 0;

  /** The name of a stream to be. Those that carry everything are one and the same to their client. */
  next(kind: StreamKind): string {
    return kind === "everything" ? LETTERS.everything : `${LETTERS[kind]}${++this.#last}`;
  }

  eventId(name: string, seq: number): string {
    return `${this.#tag}.${name}.${seq}`;
  }

  /** Undefined when the id is not one of this session's. */
  placeOf(eventId: string): StreamPlace | undefined {
    const [, tag, name = "", seq] = EVENT_ID.exec(eventId) ?? [];
    if (tag !== this.#tag) return undefined;
    const kind = KINDS.find((candidate) => name.startsWith(LETTERS[candidate]));
    return kind && { name, kind, seq: Number(seq) };
  }
}

const KINDS: readonly StreamKind[] = ["everything", "own", "shared"];
