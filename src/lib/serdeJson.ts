/** A syntax error in a JSON text in serde_json's wording, with the number of characters read so far. */
export class JsonFault {
  constructor(
    readonly message: string,
    readonly offset: number,
  ) {}
}

/** The positions of the values in a JSON text. */
export interface JsonPlaces {
  readonly whole: JsonPlace;
  /** The keys that an object has twice. */
  readonly repeated: readonly { readonly path: readonly PropertyKey[]; readonly keyTo: number }[];
}

/** Start and end of a value, the end of its key, and the values in it. Paths would repeat a long key for each value below it. */
interface JsonPlace {
  readonly from: number;
  readonly to: number;
  readonly keyTo: number;
  readonly inner: ReadonlyMap<string, JsonPlace>;
}

/** The position of one value; undefined where there is none. */
export function placeAt({ whole }: JsonPlaces, path: readonly PropertyKey[]): JsonPlace | undefined {
  return path.reduce<JsonPlace | undefined>((place, key) => place?.inner.get(String(key)), whole);
}

const NOTHING_INSIDE: ReadonlyMap<string, JsonPlace> = new Map();

/** Parses a JSON text as serde_json does, to reproduce its error messages: models get to see them. */
export function readPlaces(text: string): JsonPlaces | JsonFault {
  try {
    return new PlaceReader(text).read();
  } catch (error) {
    if (error instanceof JsonFault) return error;
    throw error;
  }
}

/** "line 1 column 15": the position of the last character read. */
export function lineAndColumn(text: string, offset: number): string {
  const before = text.slice(0, offset);
  const lineStart = before.lastIndexOf("\n") + 1;
  const column = Buffer.byteLength(before.slice(lineStart));
  return `line ${before.split("\n").length} column ${column}`;
}

const DEEPEST = 128;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

class PlaceReader {
  readonly #text: string;
  readonly #repeated: { readonly path: readonly PropertyKey[]; readonly keyTo: number }[] = [];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  read(): JsonPlaces {
    const whole = this.#value([]);
    this.#blank();
    if (this.#at < this.#text.length) this.#fail("trailing characters");
    return { whole, repeated: this.#repeated };
  }

  #value(path: readonly PropertyKey[], keyTo = 0): JsonPlace {
    this.#blank();
    let inner = NOTHING_INSIDE;
    if (path.length >= DEEPEST) this.#fail("recursion limit exceeded");
    const from = this.#at;
    const first = this.#text[this.#at];
    if (first === undefined) this.#end("value");
    if (first === "{") inner = this.#object(path);
    else if (first === "[") inner = this.#list(path);
    else if (first === '"') this.#string();
    else if (first === "t") this.#word("true");
    else if (first === "f") this.#word("false");
    else if (first === "n") this.#word("null");
    else if (/[-\d]/.test(first)) this.#number();
    else this.#fail("expected value");
    return { from, to: this.#at, keyTo, inner };
  }

  #object(path: readonly PropertyKey[]): ReadonlyMap<string, JsonPlace> {
    const inside = new Map<string, JsonPlace>();
    this.#at++;
    for (let isFirst = true; ; isFirst = false) {
      if (this.#peek("object") === "}") break;
      if (!isFirst) this.#separator("}", "object");
      if (this.#peek("object") !== '"') this.#fail(this.#text[this.#at] === "}" ? "trailing comma" : "key must be a string");
      const key = this.#string();
      const keyTo = this.#at;
      if (inside.has(key)) this.#repeated.push({ path: [...path, key], keyTo });
      if (this.#peek("object") !== ":") this.#fail("expected `:`");
      this.#at++;
      inside.set(key, this.#value([...path, key], keyTo));
    }
    this.#at++;
    return inside;
  }

  #list(path: readonly PropertyKey[]): ReadonlyMap<string, JsonPlace> {
    const inside = new Map<string, JsonPlace>();
    this.#at++;
    for (let index = 0; ; index++) {
      if (this.#peek("list") === "]") break;
      if (index > 0) this.#separator("]", "list");
      if (this.#peek("list") === "]") this.#fail("trailing comma");
      inside.set(String(index), this.#value([...path, index]));
    }
    this.#at++;
    return inside;
  }

  #separator(close: string, what: string): void {
    if (this.#peek(what) !== ",") this.#fail(`expected \`,\` or \`${close}\``);
    this.#at++;
  }

  #string(): string {
    const from = this.#at++;
    for (;;) {
      const char = this.#text[this.#at];
      if (char === undefined) this.#end("string");
      this.#at++;
      if (char === '"') break;
      if (char < " ") throw new JsonFault("control character (\\u0000-\\u001F) found while parsing a string", this.#at);
      if (char === "\\") this.#escape();
    }
    return JSON.parse(this.#text.slice(from, this.#at)) as string;
  }

  #escape(): void {
    const char = this.#text[this.#at];
    if (char === undefined) this.#end("string");
    this.#at++;
    if (char === "u") {
      if (!/^[0-9a-fA-F]{4}/.test(this.#text.slice(this.#at))) this.#fail("invalid escape");
      this.#at += 4;
    } else if (!'"\\/bfnrt'.includes(char)) throw new JsonFault("invalid escape", this.#at);
  }

  #word(word: string): void {
    for (const char of word) {
      if (this.#at >= this.#text.length) this.#end("value");
      if (this.#text[this.#at] !== char) this.#fail("expected ident");
      this.#at++;
    }
  }

  #number(): void {
    NUMBER.lastIndex = this.#at;
    const found = NUMBER.exec(this.#text)?.[0];
    if (found === undefined) this.#fail("invalid number");
    this.#at += found.length;
  }

  #peek(what: string): string {
    this.#blank();
    return this.#text[this.#at] ?? this.#end(what);
  }

  #blank(): void {
    while (" \n\t\r".includes(this.#text[this.#at] ?? "x")) this.#at++;
  }

  /** Reports the unexpected character's position. */
  #fail(message: string): never {
    throw new JsonFault(message, this.#at + 1);
  }

  #end(what: string): never {
    throw new JsonFault(`EOF while parsing ${/^[aeiou]/.test(what) ? "an" : "a"} ${what}`, this.#text.length);
  }
}
