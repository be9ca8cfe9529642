/** Invisible characters: controls, zero-width ones, and those that change the text's direction. */
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** The text with invisible characters as escapes, so that a command cannot look like another. Line ends and tabs stay. */
export function visibleText(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(UNSEEN, (found) => `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`);
}

/** The same on one line. */
export function visibleLine(text: string): string {
  return visibleText(text).replaceAll("\n", "\\n").replaceAll("\t", "\\t");
}
