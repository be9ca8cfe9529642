// Bundles the server into dist/. main.js holds what a handshake needs; what comes later (the agent, the doctor, large libraries) is in files
// of its own, because a start should not even have to skim them. They share main.js's modules, so that each class exists once.
// Everything it needs is inside, so that the package has no dependencies of its own.
import { chmodSync, copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";

/** Imported with `import()` → the file in dist/ that holds it, and its source. */
const LATE = [
  { file: "agent.js", source: "src/cli/agent.ts" },
  { file: "doctor.js", source: "src/cli/doctor.ts" },
  { file: "web-tree-sitter.js", source: "node_modules/web-tree-sitter/web-tree-sitter.js" },
  { file: "mcp-client.js", source: "src/engines/native/mcpServers/sdk.ts" },
];
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
/** Late files are found with `require`, beside the file that asks. Only in our own code: a library may have plans of its own. */
const OURS = { ...COMMON, supported: { "dynamic-import": false } };
const HASHBANG = "#!/usr/bin/env node";

/** What is imported late is left to its own file. */
const lateFiles = {
  name: "late files",
  setup({ onResolve, resolve }) {
    onResolve({ filter: /./ }, async ({ path: name, kind, resolveDir, pluginData }) => {
      if (kind !== "dynamic-import" || pluginData === "asked") return undefined;
      const { path: found } = await resolve(name, { kind: "import-statement", resolveDir, pluginData: "asked" });
      const late = LATE.find(({ source }) => path.resolve(source) === found);
      return late && { path: `./${late.file}`, external: true };
    });
  },
};

/** Modules that main.js holds are taken from there. */
const modulesOfMain = (held) => ({
  name: "modules of main",
  setup({ onResolve, onLoad, resolve }) {
    onResolve({ filter: /^\.{1,2}\// }, async ({ path: name, kind, resolveDir, pluginData }) => {
      if (kind !== "import-statement" || pluginData === "asked") return undefined;
      const { path: found } = await resolve(name, { kind, resolveDir, pluginData: "asked" });
      const module = path.relative(".", found);
      return held.has(module) ? { path: module, namespace: "main" } : undefined;
    });
    onLoad({ filter: /./, namespace: "main" }, ({ path: module }) => ({
      contents: `module.exports = require("./main.js").modules[${JSON.stringify(module)}];`,
    }));
    onResolve({ filter: /^\.\/main\.js$/, namespace: "main" }, () => ({ path: "./main.js", external: true }));
  },
});

/** The modules of ours that a start needs. */
const { metafile: start } = await build({ ...OURS, entryPoints: ["src/main.ts"], outdir: "dist", write: false, plugins: [lateFiles] });
const held = new Set(Object.keys(start.inputs).filter((file) => file.startsWith("src/") && file.endsWith(".ts") && file !== "src/main.ts"));
const exposing = [
  ...[...held].map((file, at) => `import * as m${at} from "./${file}";`),
  'import "./src/main.ts";',
  `export const modules = { ${[...held].map((file, at) => `${JSON.stringify(file)}: m${at}`).join(", ")} };`,
].join("\n");

const main = await build({
  ...OURS,
  stdin: { contents: exposing, resolveDir: "." },
  outfile: "dist/main.js",
  banner: { js: `${HASHBANG}\n${URL_OF_BUNDLE}` },
  plugins: [lateFiles],
});
const late = await Promise.all(
  LATE.map(({ file, source }) =>
    build({
      ...(source.startsWith("src/") ? OURS : COMMON),
      entryPoints: [source],
      outfile: `dist/${file}`,
      banner: { js: URL_OF_BUNDLE },
      plugins: [lateFiles, modulesOfMain(held)],
    }),
  ),
);
const results = [main, ...late];

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
