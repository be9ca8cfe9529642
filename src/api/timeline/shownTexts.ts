import type { FileChange, FileChanges } from "../../exec/actions.js";
import { type FileOperation, parsePatch } from "../../exec/patch/parse.js";
import type { FileDiff, Tokens } from "../schemas/common.js";

/** Longer texts are shortened in lists and events. A typical model message has a tenth of this. */
const LONGEST_TEXT = 64 * 1024;
/** The larger limit for a single item, so that no response is unbounded. */
export const LONGEST_WHOLE_TEXT = 8 * 1024 * 1024;

/** A text, and whether it was shortened. */
export interface Cut {
  readonly text: string;
  readonly truncated: boolean;
}

/** The beginning of a text, without split characters. */
export function beginning(text: string, longest = LONGEST_TEXT): Cut {
  if (text.length <= longest) return { text, truncated: false };
  const end = isHighSurrogate(text.charCodeAt(longest - 1)) ? longest - 1 : longest;
  return { text: text.slice(0, end), truncated: true };
}

/** The end of a text: the last output of a command shows how it ended. */
export function ending(text: string, longest = LONGEST_TEXT): Cut {
  if (text.length <= longest) return { text, truncated: false };
  const start = text.length - longest;
  return { text: text.slice(isHighSurrogate(text.charCodeAt(start - 1)) ? start + 1 : start), truncated: true };
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}

/** A command as shell text. */
export function commandTextOf(command: readonly string[]): string {
  const isScript = command.length === 3 && /^-l?c$/.test(command[1] ?? "");
  return isScript ? (command[2] ?? "") : command.join(" ");
}

/** The usage between two counts of the same thread. */
export function tokensBetween(before: Tokens | undefined, after: Tokens): Tokens {
  if (!before) return after;
  return {
    input: after.input - before.input,
    cachedInput: after.cachedInput - before.cachedInput,
    output: after.output - before.output,
    reasoning: after.reasoning - before.reasoning,
    total: after.total - before.total,
  };
}

export function fileDiffs(changes: FileChanges, longest?: number): FileDiff[] {
  return Object.entries(changes).map(([path, change]) => fileDiff(path, change, longest));
}

function fileDiff(path: string, change: FileChange, longest?: number): FileDiff {
  const { text: diff, truncated } = beginning(hunksOf(change), longest);
  const movedTo = change.type === "update" ? change.move_path : null;
  return { path, kind: change.type, movedTo, diff, hasLineNumbers: true, ...counted(hunksOf(change)), truncated };
}

function hunksOf(change: FileChange): string {
  switch (change.type) {
    case "add":
      return wholeFile(change.content, "+");
    case "delete":
      return wholeFile(change.content, "-");
    case "update":
      return change.unified_diff;
  }
}

function wholeFile(content: string, sign: "+" | "-"): string {
  const lines = content === "" ? [] : content.replace(/\n$/, "").split("\n");
  if (lines.length === 0) return "";
  const [before, after] = sign === "+" ? ["0,0", `1,${lines.length}`] : [`1,${lines.length}`, "0,0"];
  const end = content.endsWith("\n") ? "" : "\n\\ No newline at end of file";
  return `@@ -${before} +${after} @@\n${lines.map((line) => `${sign}${line}`).join("\n")}${end}\n`;
}

function counted(diff: string): { added: number; removed: number } {
  let [added, removed] = [0, 0];
  for (const line of diff.split("\n")) {
    if (line.startsWith("+") && !line.startsWith("+++ ")) added++;
    else if (line.startsWith("-") && !line.startsWith("--- ")) removed++;
  }
  return { added, removed };
}

/** The files of a patch as the model wrote it, for records without the applied change. Undefined when the text is not a patch. */
export function diffsOfPatch(patch: string, longest?: number): FileDiff[] | undefined {
  try {
    return parsePatch(patch).operations.map((operation) => diffOfOperation(operation, longest));
  } catch {
    return undefined;
  }
}

function diffOfOperation(operation: FileOperation, longest: number | undefined): FileDiff {
  switch (operation.kind) {
    case "add":
      return fileDiff(operation.path, { type: "add", content: operation.content }, longest);
    case "delete":
      return fileDiff(operation.path, { type: "delete", content: "" }, longest);
    case "update": {
      const update = { type: "update", unified_diff: hunksWithoutPlaces(operation), move_path: operation.movePath ?? null } as const;
      return { ...fileDiff(operation.path, update, longest), hasLineNumbers: false };
    }
  }
}

type Update = Extract<FileOperation, { kind: "update" }>;

const SIGNS = { context: " ", added: "+", removed: "-" } as const;

/** The positions in the file are unknown; hunks are numbered consecutively. */
function hunksWithoutPlaces({ chunks }: Update): string {
  let [before, after] = [1, 1];
  return chunks
    .map(({ lines, anchor }) => {
      const [old, now] = [lines.filter(({ kind }) => kind !== "added").length, lines.filter(({ kind }) => kind !== "removed").length];
      const head = `@@ -${before},${old} +${after},${now} @@${anchor ? ` ${anchor}` : ""}\n`;
      before += old;
      after += now;
      return head + lines.map(({ kind, text }) => `${SIGNS[kind]}${text}\n`).join("");
    })
    .join("");
}
