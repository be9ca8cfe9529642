/** Shortens a text to one line of at most `longest` characters, for lists. Of a longer text, only the beginning is examined. */
export function oneLine(text: string, longest: number): string {
  // A character is one or two code units; one character past the limit is enough to detect the overflow.
  const enough = 2 * (longest + 1);
  let line = "";
  for (const { 0: word } of text.matchAll(/\S+/g)) {
    line += `${line === "" ? "" : " "}${word.slice(0, enough)}`;
    if (line.length >= enough) break;
  }
  const letters = Array.from(line.slice(0, enough));
  return letters.length > longest ? `${letters.slice(0, longest - 1).join("")}…` : line;
}
