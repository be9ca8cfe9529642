/**
 * Whatever a terminal obeys or a reader cannot see: control characters, marks that turn the direction of text, characters without a shape,
 * other ends of lines, halves of characters.
 */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

const SHORT_NAMES: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Text of others in one line that a person is shown: what it is shows, and nothing else can be made of the line. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (character) => SHORT_NAMES[character] ?? `\\u{${character.codePointAt(0)?.toString(16) ?? ""}}`);
}

/** The same with its lines kept apart; each but the first is marked, so that none can be taken for a line of ours. */
export function visibleLines(text: string): string {
  return text.split("\n").map(visible).join("\n  | ");
}
