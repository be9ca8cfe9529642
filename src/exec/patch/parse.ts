import { PatchInvalid } from "./errors.js";

export interface Patch {
  readonly operations: readonly FileOperation[];
}

/** One section of a patch; paths as written. */
export type FileOperation =
  | { readonly kind: "add"; readonly path: string; readonly content: string }
  | { readonly kind: "delete"; readonly path: string }
  | { readonly kind: "update"; readonly path: string; readonly movePath?: string; readonly chunks: readonly Chunk[] };

export interface Chunk {
  /** A line to find before the chunk's own lines; `""` is a blank line, which differs from no anchor. */
  readonly anchor: string | undefined;
  readonly lines: readonly ChunkLine[];
  readonly atEndOfFile: boolean;
}

interface ChunkLine {
  readonly kind: "context" | "added" | "removed";
  readonly text: string;
}

const BEGIN = "*** Begin Patch";
const END = "*** End Patch";
const ADD_FILE = "*** Add File: ";
const DELETE_FILE = "*** Delete File: ";
const UPDATE_FILE = "*** Update File: ";
const MOVE_TO = "*** Move to: ";
const END_OF_FILE = "*** End of File";
const HEREDOC_STARTS = new Set(["<<EOF", "<<'EOF'", '<<"EOF"']);
const FIRST_BODY_LINE = 2;

/** Throws PatchInvalid. A patch without sections is accepted: the caller decides whether that is an error. */
export function parsePatch(text: string): Patch {
  const trimmed = text.trim();
  const lines = new LineCursor(bodyOf(trimmed === "" ? [] : trimmed.split(/\r?\n/)), FIRST_BODY_LINE);
  const operations: FileOperation[] = [];
  while (!lines.done) operations.push(parseOperation(lines));
  return { operations };
}

/** The lines between Begin and End, even when a model sent a shell heredoc around them. */
function bodyOf(lines: readonly string[]): readonly string[] {
  const complaint = envelopeComplaint(lines);
  if (complaint === undefined) return lines.slice(1, -1);
  const inHeredoc = lines.length >= 4 && HEREDOC_STARTS.has(lines[0] ?? "") && lines.at(-1)?.endsWith("EOF") === true;
  const inner = inHeredoc ? lines.slice(1, -1) : lines;
  const remaining = inHeredoc ? envelopeComplaint(inner) : complaint;
  if (remaining !== undefined) throw new PatchInvalid(`invalid patch: ${remaining}`);
  return inner.slice(1, -1);
}

function envelopeComplaint(lines: readonly string[]): string | undefined {
  const first = lines[0]?.trim();
  if (first !== undefined && first !== BEGIN) return `The first line of the patch must be '${BEGIN}'`;
  return lines.at(-1)?.trim() === END ? undefined : `The last line of the patch must be '${END}'`;
}

function parseOperation(lines: LineCursor): FileOperation {
  const at = lines.number;
  const header = lines.take().trim();
  if (header.startsWith(ADD_FILE)) return { kind: "add", path: header.slice(ADD_FILE.length), content: parseAddedContent(lines) };
  if (header.startsWith(DELETE_FILE)) return { kind: "delete", path: header.slice(DELETE_FILE.length) };
  if (header.startsWith(UPDATE_FILE)) return parseUpdate(lines, { path: header.slice(UPDATE_FILE.length), at });
  throw invalidHunk(
    at,
    `'${header}' is not a valid hunk header. Valid hunk headers: '${ADD_FILE}{path}', '${DELETE_FILE}{path}', '${UPDATE_FILE}{path}'`,
  );
}

function parseAddedContent(lines: LineCursor): string {
  let content = "";
  while (lines.peek()?.startsWith("+")) content += `${lines.take().slice(1)}\n`;
  return content;
}

function parseUpdate(lines: LineCursor, { path, at }: { path: string; at: number }): FileOperation {
  const movePath = lines.peek()?.startsWith(MOVE_TO) ? lines.take().slice(MOVE_TO.length) : undefined;
  const chunks: Chunk[] = [];
  for (let line = lines.peek(); line !== undefined && !line.startsWith("***"); line = lines.peek()) {
    if (line.trim() === "") lines.take();
    else chunks.push(parseChunk(lines, { isFirst: chunks.length === 0 }));
  }
  if (chunks.length === 0) throw invalidHunk(at, `Update file hunk for path '${path}' is empty`);
  return { kind: "update", path, ...(movePath === undefined ? {} : { movePath }), chunks };
}

function parseChunk(lines: LineCursor, { isFirst }: { isFirst: boolean }): Chunk {
  const anchor = takeAnchor(lines, { isFirst });
  const firstLine = lines.number;
  const found: ChunkLine[] = [];
  for (let line = lines.peek(); line !== undefined && line !== END_OF_FILE; line = lines.peek()) {
    const parsed = parseChunkLine(line);
    if (parsed === undefined) break;
    found.push(parsed);
    lines.take();
  }
  if (found.length === 0) throw emptyChunk(firstLine, lines.peek());
  const atEndOfFile = lines.peek() === END_OF_FILE;
  if (atEndOfFile) lines.take();
  return { anchor, lines: found, atEndOfFile };
}

function takeAnchor(lines: LineCursor, { isFirst }: { isFirst: boolean }): string | undefined {
  const line = lines.peek() ?? "";
  if (line === "@@" || line.startsWith("@@ ")) return lines.take() === "@@" ? undefined : line.slice(3);
  if (isFirst) return undefined;
  throw invalidHunk(lines.number, `Expected update hunk to start with a @@ context marker, got: '${line}'`);
}

/** Undefined for a line that ends the chunk. A blank line is an empty context line: models omit the leading space. */
function parseChunkLine(line: string): ChunkLine | undefined {
  switch (line[0]) {
    case undefined:
    case " ":
      return { kind: "context", text: line.slice(1) };
    case "+":
      return { kind: "added", text: line.slice(1) };
    case "-":
      return { kind: "removed", text: line.slice(1) };
    default:
      return undefined;
  }
}

function emptyChunk(lineNumber: number, line: string | undefined): PatchInvalid {
  if (line === undefined || line === END_OF_FILE) return invalidHunk(lineNumber, "Update hunk does not contain any lines");
  return invalidHunk(
    lineNumber,
    `Unexpected line found in update hunk: '${line}'. Every line should start with ' ' (context line), '+' (added line), or '-' (removed line)`,
  );
}

function invalidHunk(lineNumber: number, message: string): PatchInvalid {
  return new PatchInvalid(`invalid hunk at line ${lineNumber}, ${message}`);
}

/** Reads lines in order and knows the number of the next one. */
class LineCursor {
  readonly #lines: readonly string[];
  readonly #firstNumber: number;
  #next = 0;

  constructor(lines: readonly string[], firstNumber: number) {
    this.#lines = lines;
    this.#firstNumber = firstNumber;
  }

  get done(): boolean {
    return this.#next >= this.#lines.length;
  }

  get number(): number {
    return this.#firstNumber + this.#next;
  }

  peek(): string | undefined {
    return this.#lines[this.#next];
  }

  take(): string {
    return this.#lines[this.#next++] ?? "";
  }
}
