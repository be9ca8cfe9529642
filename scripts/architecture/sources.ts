import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

/** A source file as the rules see it. Paths are relative to the folder that was read. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly lineCount: number;
  /** Files it imports, types and `import()` included. */
  readonly imports: readonly string[];
  /** Names it exports; a value and a type of one name count once. */
  readonly exports: readonly string[];
}

export type Sources = ReadonlyMap<string, SourceFile>;

// The TypeScript compiler no longer has an API. All files are formatted alike, so a statement starts at the beginning of a line.
const IMPORT = /(?:^(?:import|export)\s[^"';]*?from\s*|^import\s+|\bimport\(\s*)"(\.[^"]+)\.js"/gm;
const DECLARATION =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:const enum|function\*?|class|const|let|var|interface|type|enum|namespace) (\w+)/gm;
const LIST = /^export (?:type )?\{([^}]*)\}/gm;

/** All TypeScript files below the folder, except tests. */
export function readSources(folder: string): Sources {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .sort();
  return sourcesOf(Object.fromEntries(files.map((file) => [file, readFileSync(path.join(folder, file), "utf8")])));
}

export function sourcesOf(texts: Readonly<Record<string, string>>): Sources {
  return new Map(Object.entries(texts).map(([file, text]) => [file, sourceFile(file, text)]));
}

function sourceFile(file: string, text: string): SourceFile {
  const imports = [...text.matchAll(IMPORT)].map(([, target = ""]) => `${path.join(path.dirname(file), target)}.ts`);
  return {
    path: file,
    text,
    lineCount: text.trimEnd().split("\n").length,
    imports: [...new Set(imports)],
    exports: [...new Set([...declaredNames(text), ...listedNames(text)])],
  };
}

function declaredNames(text: string): string[] {
  return [...text.matchAll(DECLARATION)].map(([, name = ""]) => name);
}

/** `export { a, b as c }`: a and c. */
function listedNames(text: string): string[] {
  return [...text.matchAll(LIST)].flatMap(([, list = ""]) =>
    list
      .split(",")
      .map((item) => item.trim().split(/\s+/).at(-1) ?? "")
      .filter((name) => name !== ""),
  );
}
