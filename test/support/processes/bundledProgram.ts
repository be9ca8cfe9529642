import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** A program of `test/programs` as one file that Node can run, until it is disposed. */
export async function bundledProgram(name: string): Promise<{ readonly file: string } & Disposable> {
  const folder = mkdtempSync(path.join(tmpdir(), "test-program-"));
  const file = path.join(folder, `${name}.mjs`);
  await bundle(`${name}.ts`, file);
  return { file, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) };
}

/** A program of `test/programs` as one file that Node can run anywhere. */
export async function bundle(program: string, outfile: string): Promise<void> {
  await build({
    entryPoints: [fileURLToPath(new URL(`../../programs/${program}`, import.meta.url))],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    logLevel: "warning",
  });
}
