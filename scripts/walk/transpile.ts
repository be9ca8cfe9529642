import { copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";

/** The program, transpiled file by file: a bundle would hide the file of a function. */
export interface TranspiledProgram extends Disposable {
  readonly main: string;
  /** The source path, such as `src/mcp/session.ts`, of a transpiled file's URL; undefined for anything else. */
  sourceOf(url: string): string | undefined;
}

const START = `import { main } from "./src/main.js";
main().then((code) => process.exit(code));
`;

export async function transpile(): Promise<TranspiledProgram> {
  // Packages are resolved from this folder.
  const folder = path.resolve("node_modules/.cache/codex-mcpd", `walk.${process.pid}`);
  const files = readdirSync("src", { recursive: true, encoding: "utf8" }).map((file) => path.join("src", file));
  await build({
    entryPoints: files.filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts")),
    outbase: ".",
    outdir: folder,
    format: "esm",
    target: "node20",
    supported: { "import-attributes": true },
    logLevel: "warning",
  });
  for (const file of ["package.json", ...files.filter((name) => name.endsWith(".json"))]) {
    mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
    copyFileSync(file, path.join(folder, file));
  }
  const main = path.join(folder, "start.js");
  writeFileSync(main, START);
  const prefix = `file://${folder}/src/`;
  return {
    main,
    sourceOf: (url) => (url.startsWith(prefix) ? `src/${url.slice(prefix.length).replace(/\.js$/, ".ts")}` : undefined),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}
