type LineEnd = "\n" | "\r\n";

/** A text file taken apart so that lines can be replaced and everything else stays byte for byte. */
export interface FileText {
  readonly byteOrderMark: string;
  readonly lines: readonly string[];
  /** One per line. A last line without an end gets the file's own: a patched file always ends with a line end. */
  readonly ends: readonly LineEnd[];
  /** The end most lines have. */
  readonly usualEnd: LineEnd;
}

export function splitText(text: string): FileText {
  const byteOrderMark = text.startsWith("\ufeff") ? "\ufeff" : "";
  const pieces = text.slice(byteOrderMark.length).split("\n");
  const unended = pieces.pop() ?? "";
  const ended: LineEnd[] = pieces.map((piece) => (piece.endsWith("\r") ? "\r\n" : "\n"));
  const usualEnd = usual(ended) ?? "\n";
  const lines = pieces.map((piece, at) => (ended[at] === "\r\n" ? piece.slice(0, -1) : piece));
  if (unended === "") return { byteOrderMark, lines, ends: ended, usualEnd };
  return { byteOrderMark, lines: [...lines, unended], ends: [...ended, usualEnd], usualEnd };
}

/** The most frequent end; undefined when both are equally frequent, or there is none. */
export function usual(ends: readonly LineEnd[]): LineEnd | undefined {
  const windows = ends.filter((end) => end === "\r\n").length;
  const unix = ends.length - windows;
  if (windows === unix) return undefined;
  return windows > unix ? "\r\n" : "\n";
}
