// Bundles the server into dist/main.js, one file. What is only imported dynamically (the agent) lies in it unread until it is needed.
// Everything it needs is inside, so that the package has no dependencies of its own.
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";

const { metafile } = await build({
  entryPoints: { main: "src/main.ts" },
  outdir: "dist",
  bundle: true,
  platform: "node",
  format: "cjs",
  target: "node20",
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "none",
  banner: { js: '#!/usr/bin/env node\nconst bundleUrl = require("node:url").pathToFileURL(__filename).href;' },
  define: { "import.meta.url": "bundleUrl" },
  metafile: true,
  logLevel: "warning",
});
chmodSync("dist/main.js", 0o755);
// The project's own files are ES modules; CommonJS starts some milliseconds faster.
writeFileSync("dist/package.json", '{ "type": "commonjs" }\n');
writeFileSync("dist/THIRD-PARTY-LICENSES.txt", licences(Object.keys(metafile.inputs)));
removeStale(new Set([...Object.keys(metafile.outputs), "dist/package.json", "dist/THIRD-PARTY-LICENSES.txt"]));
if (process.argv.includes("--sizes")) for (const [file, { bytes }] of Object.entries(metafile.outputs)) console.log(`${bytes} ${file}`);

/** Files of earlier builds go last: a server that runs from this folder keeps what it still has to load, as long as it is the same. */
function removeStale(current) {
  for (const entry of readdirSync("dist", { recursive: true, withFileTypes: true })) {
    const file = path.posix.join(entry.parentPath, entry.name);
    if (entry.isFile() && !current.has(file)) rmSync(file);
  }
}

/** The licence of every package that ended up in the bundle. */
function licences(inputs) {
  const folders = new Set(inputs.map((input) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1]).filter(Boolean));
  return [...folders]
    .sort((a, b) => a.localeCompare(b))
    .map(licenceOf)
    .join("\n\n");
}

function licenceOf(folder) {
  const { name, version, license, author } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  const text = file ? readFileSync(path.join(folder, file), "utf8").trim() : `Licence: ${license}. Author: ${author?.name ?? author}.`;
  return `${name} ${version} (${license})\n${"-".repeat(60)}\n${text}`;
}
