/** Shortens a text to one line of at most `longest` characters, for lists. */
export function oneLine(text: string, longest: number): string {
  const line = text.trim().split(/\s+/).join(" ");
  // A character is one or two code units; one character past the limit is enough to detect the overflow.
  const letters = Array.from(line.slice(0, 2 * (longest + 1)));
  return letters.length > longest ? `${letters.slice(0, longest - 1).join("")}…` : line;
}
