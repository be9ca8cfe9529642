// Runs a TypeScript program on Node 20: bundles it (without its packages) into the cache folder, then imports it.
//   node scripts/run-ts.mjs PROGRAM.ts [ARG...]
import path from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";

const [program, ...args] = process.argv.slice(2);
const outfile = path.resolve("node_modules/.cache/codex-mcpd", `${program.replaceAll(/[\\/]/g, "-")}.${process.pid}.mjs`);
await build({
  entryPoints: [program],
  outfile,
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  packages: "external",
  sourcemap: "inline",
  logLevel: "warning",
});
process.argv = [process.argv[0], path.resolve(program), ...args];
const { rmSync } = await import("node:fs");
process.on("exit", () => rmSync(outfile, { force: true }));
await import(pathToFileURL(outfile).href);
