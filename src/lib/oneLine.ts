/** A text as one line of at most so many letters, for lists. */
export function oneLine(text: string, longest: number): string {
  const line = text.trim().split(/\s+/).join(" ");
  // A letter is one or two code units; one letter more than fits is enough to see.
  const letters = Array.from(line.slice(0, 2 * (longest + 1)));
  return letters.length > longest ? `${letters.slice(0, longest - 1).join("")}…` : line;
}
