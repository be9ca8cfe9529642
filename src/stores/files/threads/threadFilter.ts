import path from "node:path";
import type { ThreadQuery } from "../../../threads/store.js";
import { type GramBits, mayHoldText, mayHoldWhole, searchedForm } from "./gramBits.js";
import type { KnownHead } from "./headEntry.js";

/** Beyond so many titles that match, it is quicker to look than to ask first. */
const MOST_ASKED_FOR = 500;

/** Which threads a list is to have. */
export class ThreadFilter {
  readonly #cwd: string | undefined;
  readonly #search: string | undefined;
  /** What a line of the index has somewhere if its thread is wanted for its words. Undefined when it could miss that: half a character is written otherwise there. */
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

  /** Every thread is wanted. */
  get isOpen(): boolean {
    return this.#cwd === undefined && this.#search === undefined;
  }

  get isSearch(): boolean {
    return this.#search !== undefined;
  }

  hasTitled(id: string): boolean {
    return this.#titled.has(id);
  }

  /** `unsure`: it depends on the rest of the words, which are not there. */
  accepts(id: string, { cwd, words, isCut }: KnownHead): boolean | "unsure" {
    if (this.#cwd !== undefined && path.resolve(cwd) !== this.#cwd) return false;
    if (this.#search === undefined || this.#titled.has(id) || words.includes(this.#search)) return true;
    return isCut ? "unsure" : false;
  }

  /** False: none of the threads that the bits tell of is wanted. */
  mayBeAmong(bits: GramBits): boolean {
    if (this.#cwd !== undefined && !mayHoldWhole(bits, this.#cwd)) return false;
    if (!this.isSearch || !this.text || mayHoldText(bits, this.text)) return true;
    return this.#titled.size > MOST_ASKED_FOR || [...this.#titled].some((id) => mayHoldWhole(bits, id));
  }
}

const HALF_CHARACTER = /\p{Surrogate}/u;
