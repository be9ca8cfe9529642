import { copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";

/** The program file by file, as V8 sees it best: a bundle would hide where a function is written. */
export interface TranspiledProgram extends Disposable {
  readonly main: string;
  /** `src/mcp/session.ts` for the address of what was made of it; undefined for anything else. */
  sourceOf(url: string): string | undefined;
}

const START = `import { main } from "./src/main.js";
main().then((code) => process.exit(code));
`;

export async function transpile(): Promise<TranspiledProgram> {
  // Packages are found from there.
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
