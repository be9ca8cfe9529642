import type { RequestId } from "../../../jsonrpc/message.js";
import { indexAfter } from "../../../threads/memoryEventLog.js";

/** A message of a session, numbered, as long as somebody may still want it. */
export interface SentMessage {
  readonly seq: number;
  readonly text: string;
  readonly keptAt: number;
  /** The stream that carries it; undefined until one takes it. Streams that carry everything do not take. */
  route: string | undefined;
  /** A stream has written it at least once. */
  carried: boolean;
  readonly request: RequestId | undefined;
  /** It answers `request`. */
  readonly answer: boolean;
  readonly pieceOf: string | undefined;
  readonly whole: string | undefined;
}

export interface ReplayLimits {
  /** What a session keeps in all before pieces of texts are left out. */
  readonly total: number;
  /** What it keeps of requests that are answered, in case their last messages did not arrive. */
  readonly answered: number;
}

/** About what an entry costs beside its text. */
const ENTRY_WEIGHT = 150;

/** The messages of one session that a stream still has to carry, or that a client may ask for again. */
export class ReplayBuffer {
  readonly #limits: ReplayLimits;
  #entries: SentMessage[] = [];
  #lastSeq = 0;
  #weight = 0;
  #trimAt: number;
  readonly #wholes = new Set<string>();
  readonly #answered = new Set<RequestId>();

  constructor(limits: ReplayLimits) {
    this.#limits = limits;
    this.#trimAt = limits.total;
  }

  get weight(): number {
    return this.#weight;
  }

  /** The number that was given out last; 0 when there was none. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** The number for the message that is added next. */
  nextSeq(): number {
    return ++this.#lastSeq;
  }

  /** `delivered` is the last number that every open stream has carried. Returns how many messages had to be left out. */
  add(entry: SentMessage, delivered: number): number {
    this.#entries.push(entry);
    this.#weight += weightOf(entry);
    if (entry.whole !== undefined) this.#wholes.add(entry.whole);
    if (entry.answer && entry.request !== undefined) this.finish(entry.request);
    return this.#weight > this.#trimAt ? this.#trim(delivered) : 0;
  }

  /** From the first message after this number on. */
  *after(seq: number): Generator<SentMessage> {
    for (let at = indexAfter(this.#entries, seq); at < this.#entries.length; at++) {
      const entry = this.#entries[at];
      if (entry) yield entry;
    }
  }

  /** Lets go of most of what belongs to answered requests and was carried already. */
  settle(delivered: number): void {
    const done = (entry: SentMessage) => entry.carried && entry.seq <= delivered && this.#isAnswered(entry);
    let surplus = this.#entries.reduce((sum, entry) => (done(entry) ? sum + weightOf(entry) : sum), 0) - this.#limits.answered;
    if (surplus <= 0) return;
    for (const expendable of [(entry: SentMessage) => entry.pieceOf !== undefined, () => true]) {
      this.#keep((entry) => {
        if (surplus <= 0 || !done(entry) || !expendable(entry)) return true;
        surplus -= weightOf(entry);
        return false;
      });
    }
  }

  /** Lets go of what was said before this moment, unless its request still waits for an answer or nobody has taken it yet. */
  forgetBefore(time: number): void {
    this.#keep((entry) => entry.keptAt >= time || (entry.request === undefined ? entry.route === undefined : !this.#isAnswered(entry)));
    const spokenOf = new Set(this.#entries.map(({ request }) => request));
    for (const request of this.#answered) if (!spokenOf.has(request)) this.#answered.delete(request);
    const inPieces = new Set(this.#entries.map(({ pieceOf }) => pieceOf));
    for (const item of this.#wholes) if (!inPieces.has(item)) this.#wholes.delete(item);
  }

  /** A request with this id begins: what an earlier one of the same id left is not its own. */
  begin(request: RequestId): void {
    this.#answered.delete(request);
  }

  /** Nothing about this request follows, whether or not its answer is kept here. */
  finish(request: RequestId): void {
    this.#answered.add(request);
  }

  /**
   * Pieces of finished texts go first, then what answered requests left behind, then pieces of texts still being written; at last
   * what answered requests said to nobody, since no stream was open.
   */
  #trim(delivered: number): number {
    const isFinishedPiece = ({ pieceOf }: SentMessage) => pieceOf !== undefined && this.#wholes.has(pieceOf);
    const isDone = (entry: SentMessage) => entry.carried && entry.seq <= delivered && this.#isAnswered(entry);
    const isPiece = ({ pieceOf }: SentMessage) => pieceOf !== undefined;
    let lost = 0;
    const isOver = (entry: SentMessage) => entry.seq <= delivered && this.#isAnswered(entry);
    for (const expendable of [isFinishedPiece, isDone, isPiece, isOver]) {
      if (this.#weight <= this.#limits.total / 2) break;
      this.#keep((entry) => {
        if (!expendable(entry)) return true;
        if (!entry.carried || entry.seq > delivered) lost++;
        return false;
      });
    }
    // What may not be left out stays; looking again at every message would cost more than it saves.
    this.#trimAt = Math.max(this.#limits.total, this.#weight * 2);
    return lost;
  }

  #isAnswered({ request }: SentMessage): boolean {
    return request !== undefined && this.#answered.has(request);
  }

  #keep(wanted: (entry: SentMessage) => boolean): void {
    this.#entries = this.#entries.filter((entry) => {
      if (wanted(entry)) return true;
      this.#weight -= weightOf(entry);
      return false;
    });
    if (this.#entries.length > 0) return;
    this.#wholes.clear();
    this.#answered.clear();
  }
}

function weightOf({ text }: SentMessage): number {
  return text.length + ENTRY_WEIGHT;
}
