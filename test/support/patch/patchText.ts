import { changedRegions } from "../../../src/exec/patch/lineDiff.js";

/** A whole patch around its sections. */
export function patchOf(...sections: readonly string[]): string {
  return ["*** Begin Patch", ...sections.map((section) => section.replace(/\n$/, "")), "*** End Patch"].join("\n");
}

export function addSection(path: string, lines: readonly string[]): string {
  return [`*** Add File: ${path}`, ...lines.map((line) => `+${line}`)].join("\n");
}

/** A section that turns one list of lines into the other, with enough context to be unambiguous. Undefined if they are equal. */
export function updateSection(
  path: string,
  before: readonly string[],
  after: readonly string[],
  { movePath }: { movePath?: string } = {},
): string | undefined {
  const chunks: string[] = [];
  let cursor = 0;
  for (const region of changedRegions(before, after)) {
    const { oldStart, oldEnd, newStart, newEnd } = region;
    const { start, end } = withContext(before, { start: oldStart, end: oldEnd, cursor });
    chunks.push("@@");
    chunks.push(...before.slice(start, oldStart).map((line) => ` ${line}`));
    chunks.push(...before.slice(oldStart, oldEnd).map((line) => `-${line}`));
    chunks.push(...after.slice(newStart, newEnd).map((line) => `+${line}`));
    chunks.push(...before.slice(oldEnd, end).map((line) => ` ${line}`));
    cursor = end;
  }
  if (chunks.length === 0) return undefined;
  return [`*** Update File: ${path}`, ...(movePath === undefined ? [] : [`*** Move to: ${movePath}`]), ...chunks].join("\n");
}

function withContext(
  lines: readonly string[],
  { start, end, cursor }: { start: number; end: number; cursor: number },
): { start: number; end: number } {
  let from = start;
  let to = end;
  while (from > cursor && firstPlace(lines, { from, to, cursor }) !== from) from--;
  if (from === to && to < lines.length) to++;
  return { start: from, end: to };
}

/** Undefined for an empty list, which would match anywhere. */
function firstPlace(lines: readonly string[], { from, to, cursor }: { from: number; to: number; cursor: number }): number | undefined {
  if (from === to) return undefined;
  for (let place = cursor; place <= from; place++) {
    if (lines.slice(from, to).every((line, at) => lines[place + at] === line)) return place;
  }
  return undefined;
}
