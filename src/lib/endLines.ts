const NEWLINE = 0x0a;

/** The text without line breaks at its end. A regular expression would take quadratic time on long runs of line breaks. */
export function withoutEndLines(text: string): string {
  let end = text.length;
  while (text.charCodeAt(end - 1) === NEWLINE) end--;
  return text.slice(0, end);
}
