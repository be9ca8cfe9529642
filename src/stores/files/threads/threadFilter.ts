import path from "node:path";
import type { ThreadQuery } from "../../../threads/store.js";
import { type GramBits, mayHoldText, mayHoldWhole, searchedForm } from "./gramBits.js";
import type { KnownHead } from "./headEntry.js";

/** With more matching titles, checking each thread is faster than a look-up first. */
const MOST_ASKED_FOR = 500;
/** The same for wanted ids. */
const MOST_NAMED = 64;

/** The criteria of a list. */
export class ThreadFilter {
  readonly #cwd: string | undefined;
  readonly #search: string | undefined;
  /**
   * Bytes that an index line contains if its thread matches by text. Undefined when that is unreliable: a lone surrogate is encoded
   * differently there.
   */
  readonly text: Buffer | undefined;
  /** The same for its folder. */
  readonly quotedCwd: Buffer | undefined;
  readonly #titled = new Set<string>();
  readonly #among: ReadonlySet<string> | undefined;

  constructor({ cwd, search, among }: Pick<ThreadQuery, "cwd" | "search" | "among">, titles: ReadonlyMap<string, string>) {
    this.#among = among;
    this.#cwd = cwd === undefined ? undefined : path.resolve(cwd);
    this.quotedCwd = this.#cwd === undefined ? undefined : Buffer.from(JSON.stringify(this.#cwd));
    this.#search = search?.toLowerCase();
    if (this.#search === undefined) return;
    this.text = HALF_CHARACTER.test(this.#search) ? undefined : searchedForm(this.#search);
    for (const [id, title] of titles) if (title.toLowerCase().includes(this.#search)) this.#titled.add(id);
  }

  /** Whether a thread with this id is wanted at all. */
  wants(id: string): boolean {
    return this.#among?.has(id) ?? true;
  }

  /** False: none of the threads covered by the bits is wanted. */
  mayWantAmong(bits: GramBits): boolean {
    return !this.#among || this.#among.size > MOST_NAMED || [...this.#among].some((id) => mayHoldWhole(bits, id));
  }

  /** Every wanted thread matches. */
  get isOpen(): boolean {
    return this.#cwd === undefined && this.#search === undefined;
  }

  get isSearch(): boolean {
    return this.#search !== undefined;
  }

  hasTitled(id: string): boolean {
    return this.#titled.has(id);
  }

  /** `unsure`: it depends on the rest of the text, which is not available. */
  accepts(id: string, { cwd, words, isCut }: KnownHead): boolean | "unsure" {
    if (this.#cwd !== undefined && path.resolve(cwd) !== this.#cwd) return false;
    if (this.#search === undefined || this.#titled.has(id) || words.includes(this.#search)) return true;
    return isCut ? "unsure" : false;
  }

  /** False: none of the threads covered by the bits matches. */
  mayBeAmong(bits: GramBits): boolean {
    if (this.#cwd !== undefined && !mayHoldWhole(bits, this.#cwd)) return false;
    if (!this.isSearch || !this.text || mayHoldText(bits, this.text)) return true;
    return this.#titled.size > MOST_ASKED_FOR || [...this.#titled].some((id) => mayHoldWhole(bits, id));
  }
}

const HALF_CHARACTER = /\p{Surrogate}/u;
