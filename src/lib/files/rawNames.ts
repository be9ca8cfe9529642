/**
 * Names of files are bytes, and not always UTF-8. A byte that is not part of UTF-8 becomes a half of a surrogate pair, which no other text
 * contains, so that paths with such names stay distinct texts and lead back to their bytes.
 */
const FIRST_HALF = 0xdc00;
const RAW_BYTE = /[\u{dc80}-\u{dcff}]/u;

/** Node shows bytes that are not UTF-8 as this character, which a name may also contain. */
export const UNREADABLE = "\u{fffd}";

/** The text of a name. */
export function textOfName(name: Buffer): string {
  const text = name.toString("utf8");
  if (Buffer.from(text).equals(name)) return text;
  let raw = "";
  for (let at = 0; at < name.length; ) {
    const [character, length] = characterAt(name, at);
    raw += character;
    at += length;
  }
  return raw;
}

/** What the system knows a path by. */
export function pathBytes(path: string): string | Buffer {
  if (!hasRawBytes(path)) return path;
  return Buffer.concat(
    Array.from(path, (character) =>
      RAW_BYTE.test(character) ? Buffer.of((character.codePointAt(0) ?? 0) - FIRST_HALF) : Buffer.from(character),
    ),
  );
}

/** For people, models and JSON, which take no half of a surrogate pair. */
export function shownPath(path: string): string {
  return Buffer.from(path).toString();
}

export function hasRawBytes(path: string): boolean {
  return RAW_BYTE.test(path);
}

function characterAt(name: Buffer, at: number): readonly [character: string, length: number] {
  for (let length = 1; length <= 4 && at + length <= name.length; length++) {
    const bytes = name.subarray(at, at + length);
    const text = bytes.toString("utf8");
    if (Buffer.from(text).equals(bytes)) return [text, length];
  }
  return [String.fromCharCode(FIRST_HALF + (name[at] ?? 0)), 1];
}
