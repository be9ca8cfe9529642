/**
 * Everything that a terminal interprets or a reader cannot see: control characters, bidirectional marks, invisible characters, other line
 * separators, lone surrogates.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

const SHORT_NAMES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/**
 * Makes foreign text safe to show on one line: hidden characters become visible, so that the text cannot disguise itself or break the line.
 */
export function visible(text: string): string {
  return text.replace(UNSEEN, (character) => SHORT_NAMES[character] ?? `\\u{${character.codePointAt(0)?.toString(16) ?? ""}}`);
}

/** The same for several lines. Each line but the first gets a marker, so that it cannot be mistaken for a line of our own. */
export function visibleLines(text: string): string {
  return text.split("\n").map(visible).join("\n  | ");
}
