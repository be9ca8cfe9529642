import path from "node:path";
import type { SourceFile, Sources } from "./sources.js";

/** A shorter file with a single importer belongs in that importer. */
export const SCREEN_LINES = 45;
export const LONGEST_FILE_LINES = 300;
/** A longer file gives its reason in its first line. */
const REASON_TO_BE_LONG = /\bLong because\b/;
const HEAD_LINES = 60;

export function unknownImports(sources: Sources): string[] {
  return edges(sources)
    .filter(([, target]) => !sources.has(target))
    .map(words);
}

/** Imports that are not allowed for their folder; an unlisted folder may import nothing. */
export function upwardImports(sources: Sources, allowed: Readonly<Record<string, readonly string[]>>): string[] {
  const isAllowed = (from: string, to: string) => from === to || allowed[from]?.includes(to) === true;
  return edges(sources)
    .filter(([file, target]) => !isAllowed(topOf(file), topOf(target)))
    .map(words)
    .sort();
}

/** Import cycles, including those through types or `import()`. */
export function importCycles(sources: Sources): string[] {
  const finished = new Set<string>();
  const cycleFrom = (file: string, trail: readonly string[]): string | undefined => {
    if (trail.includes(file)) return [...trail.slice(trail.indexOf(file)), file].join(" → ");
    if (finished.has(file)) return undefined;
    const cycle = sources
      .get(file)
      ?.imports.map((target) => cycleFrom(target, [...trail, file]))
      .find((found) => found !== undefined);
    finished.add(file);
    return cycle;
  };
  return [...sources.keys()].flatMap((file) => cycleFrom(file, []) ?? []);
}

/** Folders that import each other, including a folder and one inside it: `a ⇄ b`. */
export function mutualFolders(sources: Sources): string[] {
  const imports = new Map<string, string>();
  for (const [file, target] of writtenEdges(sources)) imports.set(`${path.dirname(file)} ⇄ ${path.dirname(target)}`, `${file} → ${target}`);
  return [...imports.keys()].filter((pair) => {
    const [from = "", to = ""] = pair.split(" ⇄ ");
    return from < to && imports.has(`${to} ⇄ ${from}`);
  });
}

/** Names that more than one file exports, with the files. */
export function namesExportedTwice(sources: Sources): ReadonlyMap<string, readonly string[]> {
  const exporters = new Map<string, string[]>();
  for (const { path: file, exports } of sources.values())
    for (const name of exports) exporters.set(name, [...(exporters.get(name) ?? []), file]);
  return new Map([...exporters].filter(([, files]) => files.length > 1).sort(([a], [b]) => a.localeCompare(b)));
}

/** Short files with a single importer, and that importer; files in generated lists are exempt. */
export function scraps(sources: Sources): ReadonlyMap<string, string> {
  const importers = new Map<string, string[]>();
  for (const [file, target] of edges(sources)) importers.set(target, [...(importers.get(target) ?? []), file]);
  const found = [...sources.values()].flatMap(({ path: file, lineCount }): [string, string][] => {
    const [importer, ...others] = importers.get(file) ?? [];
    return lineCount < SCREEN_LINES && importer !== undefined && others.length === 0 && !isGenerated(importer) ? [[file, importer]] : [];
  });
  return new Map(found);
}

export function longFiles(sources: Sources): string[] {
  return [...sources.values()].filter((file) => file.lineCount > LONGEST_FILE_LINES && !saysWhyLong(file)).map(({ path: file }) => file);
}

/** Barrel files (`index.ts`, `export *`) and default exports. */
export function barrels(sources: Sources): string[] {
  return [...sources.values()]
    .filter(({ path: file, text }) => path.basename(file) === "index.ts" || /^export (?:\*|default\b)/m.test(text))
    .map(({ path: file }) => file);
}

/** Files that read file contents directly, or obtain a function that can. */
export function fileReaders(sources: Sources): string[] {
  return [...sources.values()].filter(({ text }) => readsFiles(text)).map(({ path: file }) => file);
}

/** Files that get access to the file system without importing it. */
export function hiddenFileImports(sources: Sources): string[] {
  return [...sources.values()].filter(({ text }) => HIDDEN_IMPORT.test(text)).map(({ path: file }) => file);
}

/** Files with a time limit that may be collected before it is over; `timeoutSignal` may not. */
export function lostTimeouts(sources: Sources): string[] {
  return [...sources.values()].filter(({ text }) => text.includes("AbortSignal.timeout(")).map(({ path: file }) => file);
}

/** Functions that read a file's content, or hand out what can. */
const READING =
  /^(?:promises|default|\*|(?:open|openAsBlob|opendir|read|readv|readFile|copyFile|cp)(?:Sync)?|createReadStream|ReadStream|FileReadStream)$/;
const FILE_SYSTEM_IMPORT = /^import\s+([^"';]*?)\s+from\s*"(?:node:)?fs(?:\/promises)?"/gm;
const HIDDEN_IMPORT = /(?:\bimport|require|getBuiltinModule|createRequire\([^)]*\))\??\.?\(\s*["'`](?:node:)?fs\b/;

function readsFiles(text: string): boolean {
  return [...text.matchAll(FILE_SYSTEM_IMPORT)].some(([, clause = ""]) => importedNames(clause).some((name) => READING.test(name)));
}

/** `a`, `b as c` and `type d` of an import; `default` and `*` for the whole. */
function importedNames(clause: string): string[] {
  if (clause.startsWith("type ")) return [];
  const [whole = "", listed = ""] = clause.split("{");
  const names = listed.replace("}", "").split(",");
  return [
    ...(whole.includes("*") ? ["*"] : /\w/.test(whole) ? ["default"] : []),
    ...names.map((name) => name.trim().split(" as ")[0] ?? ""),
  ];
}

type Edge = readonly [file: string, target: string];

function edges(sources: Sources): Edge[] {
  return [...sources.values()].flatMap(({ path: file, imports }) => imports.map((target): Edge => [file, target]));
}

/** Importers except generated lists, which name every tool. */
function writtenEdges(sources: Sources): Edge[] {
  return edges(sources).filter(([file]) => !isGenerated(file));
}

function isGenerated(file: string): boolean {
  return file.endsWith(".generated.ts");
}

function words([file, target]: Edge): string {
  return `${file} imports ${target}`;
}

function topOf(file: string): string {
  return file.split("/")[0] ?? file;
}

function saysWhyLong({ text }: SourceFile): boolean {
  return REASON_TO_BE_LONG.test(text.split("\n").slice(0, HEAD_LINES).join("\n"));
}
