import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/** A program of `test/programs` as one file that Node can run anywhere. */
export async function bundle(program: string, outfile: string): Promise<void> {
  await build({
    entryPoints: [fileURLToPath(new URL(`../programs/${program}`, import.meta.url))],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    logLevel: "warning",
  });
}
