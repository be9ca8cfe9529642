/** A pattern of all of a long secret is more than V8 can compile in time, or at all. */
const MIN_PIECE = 16;
const MAX_PIECE = 64;
const PLAIN = /[A-Za-z0-9]/;
/** Line breaks, also escaped ones, may have got between any two characters. */
const BREAKS = String.raw`(?:[\r\n]|\\+[rn])*`;

/** A text that must appear nowhere, in any spelling. */
export class Secret {
  readonly start: string;
  readonly #length: number;
  readonly #pieces: readonly string[];
  /** Made as far as a text follows the secret. */
  readonly #patterns: RegExp[] = [];

  constructor(text: string) {
    this.#pieces = piecesOf([...text]);
    this.#length = text.length;
    this.start = this.#pieces[0] ?? "";
  }

  /** Where it ends in the text, if it stands there from this place on. */
  endIn(text: string, start: number): number | undefined {
    // No spelling is shorter.
    if (text.length - start < this.#length) return undefined;
    let end = start;
    for (const at of this.#pieces.keys()) {
      const pattern = this.#pattern(at);
      pattern.lastIndex = end;
      if (!pattern.test(text)) return undefined;
      end = pattern.lastIndex;
    }
    return end;
  }

  #pattern(at: number): RegExp {
    const known = this.#patterns[at];
    if (known) return known;
    const made = new RegExp(`${at === 0 ? "" : BREAKS}${spellings(this.#pieces[at] ?? "")}`, "iuy");
    this.#patterns[at] = made;
    return made;
  }
}

/** They end between plain characters: others can be read in several ways, of which the next character decides. */
function piecesOf(characters: readonly string[]): string[] {
  const pieces: string[] = [];
  let from = 0;
  for (let end = 1; end <= characters.length; end++) {
    const [last = "", next = ""] = [characters[end - 1], characters[end]];
    const length = end - from;
    const isGoodEnd = length >= MIN_PIECE && PLAIN.test(last) && PLAIN.test(next);
    if (end < characters.length && !isGoodEnd && length < MAX_PIECE) continue;
    pieces.push(characters.slice(from, end).join(""));
    from = end;
  }
  return pieces;
}

/** Finds the places at which one of the secrets may begin. */
export function startPattern(secrets: Iterable<Secret>): RegExp {
  const starts = new Set([...secrets].map(({ start }) => start));
  return new RegExp([...starts].map(spellings).join("|"), "giu");
}

/** Each character may be percent-encoded or stand behind a backslash. */
function spellings(text: string): string {
  return [...text].map(spellingsOf).join(BREAKS);
}

function spellingsOf(character: string): string {
  const encoded = [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, "0")}`).join("");
  const literal = character.replace(/[\\^$.*+?()[\]{}|/]/, String.raw`\$&`);
  return PLAIN.test(character) ? `(?:${literal}|${encoded})` : String.raw`(?:${encoded}|\\*${literal})`;
}
