import type { RequestId } from "../../../jsonrpc/message.js";
import { indexAfter } from "../../../threads/memoryEventLog.js";

/** A numbered message of a session, kept as long as a client may still need it. */
export interface SentMessage {
  readonly seq: number;
  readonly text: string;
  readonly keptAt: number;
  /** The stream that carries the message; undefined until one takes it. Streams of the kind `everything` do not take messages. */
  route: string | undefined;
  /** Whether a stream has written it at least once. */
  carried: boolean;
  readonly request: RequestId | undefined;
  /** Whether it is the response to `request`. */
  readonly answer: boolean;
  readonly deltaOf: string | undefined;
  readonly whole: string | undefined;
  /** Whether it may be dropped although nobody has taken it. */
  readonly passing: boolean;
}

export interface ReplayLimits {
  /** Total size that a session keeps before text deltas are dropped. */
  readonly total: number;
  /** Size kept of completed requests, in case their last messages did not arrive. */
  readonly answered: number;
}

/** The approximate overhead of an entry beyond its text. */
const ENTRY_WEIGHT = 150;

/** The messages of one session that a stream still has to send, or that a client may request again. */
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

  /** The last number assigned; 0 if none. */
  get lastSeq(): number {
    return this.#lastSeq;
  }

  /** The number of the next message. */
  nextSeq(): number {
    return ++this.#lastSeq;
  }

  /** `delivered` is the last number that every open stream has sent. Returns how many messages were dropped. */
  add(entry: SentMessage, delivered: number): number {
    this.#entries.push(entry);
    this.#weight += weightOf(entry);
    if (entry.whole !== undefined) this.#wholes.add(entry.whole);
    if (entry.answer && entry.request !== undefined) this.finish(entry.request);
    return this.#weight > this.#trimAt ? this.#trim(delivered) : 0;
  }

  /** The messages after this number. */
  *after(seq: number): Generator<SentMessage> {
    for (let at = indexAfter(this.#entries, seq); at < this.#entries.length; at++) {
      const entry = this.#entries[at];
      if (entry) yield entry;
    }
  }

  /** Drops most messages of completed requests that have been sent. */
  settle(delivered: number): void {
    const done = (entry: SentMessage) => entry.carried && entry.seq <= delivered && this.#isAnswered(entry);
    let surplus = this.#entries.reduce((sum, entry) => (done(entry) ? sum + weightOf(entry) : sum), 0) - this.#limits.answered;
    if (surplus <= 0) return;
    for (const expendable of [(entry: SentMessage) => entry.deltaOf !== undefined, () => true]) {
      this.#keep((entry) => {
        if (surplus <= 0 || !done(entry) || !expendable(entry)) return true;
        surplus -= weightOf(entry);
        return false;
      });
    }
  }

  /** Drops messages older than this time, unless their request is still open or, without a request, no stream has sent them yet. */
  forgetBefore(time: number): void {
    this.#keep((entry) => entry.keptAt >= time || (entry.request === undefined ? !entry.carried : !this.#isAnswered(entry)));
    const spokenOf = new Set(this.#entries.map(({ request }) => request));
    for (const request of this.#answered) if (!spokenOf.has(request)) this.#answered.delete(request);
    const withDeltas = new Set(this.#entries.map(({ deltaOf }) => deltaOf));
    for (const item of this.#wholes) if (!withDeltas.has(item)) this.#wholes.delete(item);
  }

  /** A request with this id starts: messages of an earlier request with the same id do not belong to it. */
  begin(request: RequestId): void {
    this.#answered.delete(request);
  }

  /** No more messages about this request follow, whether or not its response is kept here. */
  finish(request: RequestId): void {
    this.#answered.add(request);
  }

  /**
   * The order of dropping: deltas of finished texts, then sent messages of completed requests, then deltas of unfinished texts, then
   * messages of completed requests that were never sent because no stream was open, and last the oldest of those that clients can do
   * without.
   */
  #trim(delivered: number): number {
    const isFinishedDelta = ({ deltaOf }: SentMessage) => deltaOf !== undefined && this.#wholes.has(deltaOf);
    const isDone = (entry: SentMessage) => entry.carried && entry.seq <= delivered && this.#isAnswered(entry);
    const isDelta = ({ deltaOf }: SentMessage) => deltaOf !== undefined;
    let lost = 0;
    const isOver = (entry: SentMessage) => entry.seq <= delivered && this.#isAnswered(entry);
    for (const expendable of [isFinishedDelta, isDone, isDelta, isOver]) {
      if (this.#weight <= this.#limits.total / 2) break;
      this.#keep((entry) => {
        if (!expendable(entry)) return true;
        if (!entry.carried || entry.seq > delivered) lost++;
        return false;
      });
    }
    this.#keep((entry) => {
      if (this.#weight <= this.#limits.total / 2 || !entry.passing || entry.seq > delivered) return true;
      if (!entry.carried) lost++;
      return false;
    });
    // The rest must not be dropped. Raising the threshold avoids scanning every message again.
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
