import path from "node:path";
import type { SourceFile, Sources } from "./sources.js";

/** Less than a screen: what has one importer belongs there. */
export const SCREEN_LINES = 45;
export const LONGEST_FILE_LINES = 300;
/** A file past the limit says why it is one idea nevertheless. */
const REASON_TO_BE_LONG = /\bLong because\b/;
const HEAD_LINES = 60;

export function unknownImports(sources: Sources): string[] {
  return edges(sources)
    .filter(([, target]) => !sources.has(target))
    .map(words);
}

/** Imports of a folder that it may not import; a folder nobody listed may import nothing. */
export function upwardImports(sources: Sources, allowed: Readonly<Record<string, readonly string[]>>): string[] {
  const isAllowed = (from: string, to: string) => from === to || allowed[from]?.includes(to) === true;
  return edges(sources)
    .filter(([file, target]) => !isAllowed(topOf(file), topOf(target)))
    .map(words)
    .sort();
}

/** Files that import themselves by a detour, by way of types or of `import()` too. */
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

/** Folders that import each other, a folder and one inside it too: `a ⇄ b`. */
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

/** Files of less than a screen that only one file imports, with that file; what a generated list names is a thing of its own. */
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

/** Doors to many files, and names without a name. */
export function barrels(sources: Sources): string[] {
  return [...sources.values()]
    .filter(({ path: file, text }) => path.basename(file) === "index.ts" || /^export (?:\*|default\b)/m.test(text))
    .map(({ path: file }) => file);
}

/** Files that read the content of files by themselves, or get hold of what can. */
export function fileReaders(sources: Sources): string[] {
  return [...sources.values()].filter(({ text }) => readsFiles(text)).map(({ path: file }) => file);
}

/** Files that come by the file system without importing it. */
export function hiddenFileImports(sources: Sources): string[] {
  return [...sources.values()].filter(({ text }) => HIDDEN_IMPORT.test(text)).map(({ path: file }) => file);
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

/** Without those of generated lists, which name whatever there is: every tool is a file of its own, in whichever folder. */
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
