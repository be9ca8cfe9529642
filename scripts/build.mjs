// Bundles the server into dist/main.js. What is only imported dynamically lies in it unread until it is needed; large libraries
// of that kind are files of their own, so that a start need not even skim them.
// Everything it needs is inside, so that the package has no dependencies of its own.
import { chmodSync, copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";

/** What is imported with `import()` and large → its file in dist/, and what that file holds. */
const LATE_LIBRARIES = new Map([
  ["web-tree-sitter", { file: "web-tree-sitter.js", source: "web-tree-sitter" }],
  ["./sdk.js", { file: "mcp-client.js", source: "./src/engines/native/mcpServers/sdk.ts" }],
]);
/** The bash grammar that judges commands, read when the first one comes. */
const GRAMMAR_FILES = ["web-tree-sitter/web-tree-sitter.wasm", "tree-sitter-bash/tree-sitter-bash.wasm"];

const COMMON = {
  bundle: true,
  platform: "node",
  format: "cjs",
  target: "node20",
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "none",
  define: { "import.meta.url": "bundleUrl" },
  metafile: true,
  logLevel: "warning",
};
const URL_OF_BUNDLE = 'const bundleUrl = require("node:url").pathToFileURL(__filename).href;';

const used = new Set();
const lateLibraries = {
  name: "late libraries",
  setup({ onResolve }) {
    onResolve({ filter: /^(web-tree-sitter|\.\/sdk\.js)$/ }, ({ path: name, kind }) => {
      const library = LATE_LIBRARIES.get(name);
      if (library === undefined || kind !== "dynamic-import") return undefined;
      used.add(library);
      return { path: `./${library.file}`, external: true };
    });
  },
};

const main = await build({
  ...COMMON,
  entryPoints: ["src/main.ts"],
  outfile: "dist/main.js",
  banner: { js: `#!/usr/bin/env node\n${URL_OF_BUNDLE}` },
  plugins: [lateLibraries],
});
const libraries = await Promise.all(
  [...used].map(({ file, source }) =>
    build({
      ...COMMON,
      stdin: { contents: `export * from ${JSON.stringify(source)};`, resolveDir: "." },
      outfile: `dist/${file}`,
      banner: { js: URL_OF_BUNDLE },
    }),
  ),
);
const results = [main, ...libraries];

chmodSync("dist/main.js", 0o755);
// The project's own files are ES modules; CommonJS starts some milliseconds faster.
writeFileSync("dist/package.json", '{ "type": "commonjs" }\n');
for (const file of GRAMMAR_FILES) copyFileSync(path.join("node_modules", file), path.join("dist", path.basename(file)));
const inputs = [...results.flatMap(({ metafile }) => Object.keys(metafile.inputs)), ...GRAMMAR_FILES.map((file) => `node_modules/${file}`)];
writeFileSync("dist/THIRD-PARTY-LICENSES.txt", licences(inputs));
const outputs = results.flatMap(({ metafile }) => Object.entries(metafile.outputs));
const others = ["package.json", "THIRD-PARTY-LICENSES.txt", ...GRAMMAR_FILES.map((file) => path.basename(file))];
removeStale(new Set([...outputs.map(([file]) => file), ...others.map((name) => `dist/${name}`)]));
if (process.argv.includes("--sizes")) for (const [file, { bytes }] of outputs) console.log(`${bytes} ${file}`);

/** Files of earlier builds go last: a server that runs from this folder keeps what it still has to load, as long as it is the same. */
function removeStale(current) {
  for (const entry of readdirSync("dist", { recursive: true, withFileTypes: true })) {
    const file = path.posix.join(entry.parentPath, entry.name);
    if (entry.isFile() && !current.has(file)) rmSync(file);
  }
}

/** The licence of every package that ended up in the bundle. */
function licences(files) {
  const folders = new Set(files.map((input) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1]).filter(Boolean));
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
