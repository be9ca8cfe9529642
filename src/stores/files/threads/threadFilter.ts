import path from "node:path";
import type { ThreadQuery } from "../../../threads/store.js";
import { type GramBits, mayHoldText, mayHoldWhole, searchedForm } from "./gramBits.js";
import type { KnownHead } from "./headEntry.js";

/** With more matching titles, checking each thread is faster than a look-up first. */
const MOST_ASKED_FOR = 500;

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

  constructor({ cwd, search }: Pick<ThreadQuery, "cwd" | "search">, titles: ReadonlyMap<string, string>) {
    this.#cwd = cwd === undefined ? undefined : path.resolve(cwd);
    this.quotedCwd = this.#cwd === undefined ? undefined : Buffer.from(JSON.stringify(this.#cwd));
    this.#search = search?.toLowerCase();
    if (this.#search === undefined) return;
    this.text = HALF_CHARACTER.test(this.#search) ? undefined : searchedForm(this.#search);
    for (const [id, title] of titles) if (title.toLowerCase().includes(this.#search)) this.#titled.add(id);
  }

  /** Every thread matches. */
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
