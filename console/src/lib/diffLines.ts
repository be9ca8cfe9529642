export interface DiffLine {
  readonly kind: "hunk" | "same" | "added" | "removed" | "note";
  readonly text: string;
  readonly before: number | undefined;
  readonly after: number | undefined;
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/;

/** The lines of a unified diff's hunks, each with its number on either side. */
export function diffLines(diff: string): readonly DiffLine[] {
  let [before, after] = [1, 1];
  const lines = diff.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line): DiffLine => {
    const hunk = HUNK.exec(line);
    const rest = line.slice(1);
    if (hunk) {
      [before, after] = [Number(hunk[1]), Number(hunk[2])];
      return { kind: "hunk", text: line, before: undefined, after: undefined };
    }
    switch (line[0]) {
      case "@":
        return { kind: "hunk", text: line, before: undefined, after: undefined };
      case "+":
        return { kind: "added", text: rest, before: undefined, after: after++ };
      case "-":
        return { kind: "removed", text: rest, before: before++, after: undefined };
      case "\\":
        return { kind: "note", text: line, before: undefined, after: undefined };
      default:
        return { kind: "same", text: rest, before: before++, after: after++ };
    }
  });
}
