const NEWLINE = 0x0a;

/** The text without line breaks at its end. A pattern for this tries every run of line breaks anew at each of its positions. */
export function withoutEndLines(text: string): string {
  let end = text.length;
  while (text.charCodeAt(end - 1) === NEWLINE) end--;
  return text.slice(0, end);
}
