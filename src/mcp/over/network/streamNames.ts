import { randomBytes } from "node:crypto";
import type { StreamKind } from "./stream.js";

/** Where a client left a stream. */
export interface StreamPlace {
  readonly name: string;
  readonly kind: StreamKind;
  readonly seq: number;
}

const LETTERS: Readonly<Record<StreamKind, string>> = { everything: "a", own: "p", shared: "g" };
const EVENT_ID = /^([0-9a-f]{8})\.([apg]\d*)\.(\d{1,15})$/;

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
