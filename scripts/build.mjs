// Bundles the server into dist/. main.js starts the program, server.js has the code for the handshake. Code that is needed later is in separate files, which
// Node does not even parse at start-up. All libraries are bundled, so that the package has no dependencies.
import { chmodSync, copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { bundle } from "./bundle.mjs";

const TOOLS = "src/mcp/tools";
/** Bundled with the agent: nearly every client calls one of them. */
const FIRST_TOOLS = [`${TOOLS}/codex.ts`, `${TOOLS}/codexReply.ts`];
const FURTHER_TOOLS = toolsIn(TOOLS).filter((file) => !FIRST_TOOLS.includes(file));

/** @param {string} folder */
function toolsIn(folder) {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `${folder}/${name}`)
    .filter((file) => /^export const \w+ = defineTool\(/m.test(readFileSync(file, "utf8")));
}

/** Our own code, in the order in which it is needed. A module that is imported with `import()` is a source of a later file. */
const FILES = [
  { file: "main.js", sources: ["src/start.ts"] },
  // Several later files use the code for providers, so it is in this one.
  { file: "server.js", sources: ["src/main.ts", "src/engines/native/model/provider.ts", "src/threads/errors.ts"], after: "main.js" },
  // Only a Codex that was chosen automatically is checked.
  { file: "usable-codex.js", sources: ["src/server/usableCodex.ts"], after: "server.js" },
  { file: "metrics.js", sources: ["src/observability/prometheus.ts"], after: "server.js" },
  { file: "traces.js", sources: ["src/observability/otel.ts"], after: "server.js" },
  {
    file: "agent.js",
    // The last one is used by a tool and by the API, which have files of their own.
    sources: [
      "src/server/openAgent.ts",
      "src/mcp/sessions/callTurn.ts",
      "src/engines/native/tools/images.ts",
      ...FIRST_TOOLS,
      "src/approvals/plainAnswers.ts",
    ],
    after: "usable-codex.js",
  },
  // The code that starts programs, and parts of turns that most turns do not need.
  {
    file: "programs.js",
    sources: ["src/exec/changes/workspaceChanges.ts", "src/engines/native/turnNotifier.ts", "src/engines/native/model/modelChoice.ts"],
    after: "agent.js",
  },
  { file: "further-tools.js", sources: [...FURTHER_TOOLS, "src/stores/files/threads/rolloutCatalog.ts"], after: "agent.js" },
  { file: "codex-methods.js", sources: ["src/codexrpc/codexRpc.ts", "src/stores/files/threads/shownEvents.ts"], after: "agent.js" },
  // Sets for clients of other servers; such clients use no other tools.
  { file: "codex-cli-tools.js", sources: toolsIn(`${TOOLS}/codexCli`), after: "agent.js" },
  { file: "openoxide-tools.js", sources: toolsIn(`${TOOLS}/openoxide`), after: "agent.js" },
  { file: "stateless.js", sources: ["src/server/statelessServer.ts"], after: "agent.js" },
  { file: "http.js", sources: ["src/server/serveHttp.ts"], after: "stateless.js" },
  {
    file: "api.js",
    sources: ["src/api/mount.ts", "src/stores/files/threads/rolloutMoments.ts", "src/engines/native/tools/excerpts.ts"],
    after: "http.js",
    // Each has its own copy of the code that reads patches, so that opening a thread over the API does not load the agent's tools.
    apartFrom: ["tools.js"],
  },
  { file: "jwt.js", sources: ["src/http/access/oauth/jwt.ts"], after: "http.js" },
  { file: "proxy.js", sources: ["src/engines/native/model/proxyAgent.ts"], after: "agent.js" },
  { file: "review.js", sources: ["src/engines/native/review.ts"], after: "agent.js" },
  { file: "scripted.js", sources: ["src/engines/native/scripted/scriptedEngine.ts"], after: "agent.js" },
  { file: "rules.js", sources: ["src/exec/safety/judge/assess.ts"], after: "programs.js" },
  { file: "sandbox.js", sources: ["src/exec/sandbox/backend.ts", "src/exec/sandbox/placeholders.ts"], after: "rules.js" },
  { file: "tools.js", sources: ["src/engines/native/tools/nativeTools.ts", "src/exec/loginEnvironment.ts"], after: "sandbox.js" },
  { file: "native-services.js", sources: ["src/engines/native/services/nativeServices.ts"], after: "tools.js" },
  {
    file: "agent-servers.js",
    sources: ["src/engines/native/agentServers/agentServers.ts", "src/engines/native/agentServers/resourceTools.ts"],
    after: "tools.js",
  },
  { file: "mcp-client.js", sources: ["src/engines/native/agentServers/sdk.ts"], after: "server.js" },
  { file: "codex-program.js", sources: ["src/server/codexForCallers.ts", "src/server/codexHelp.ts"], after: "rules.js" },
  // A process has one engine, and this one does not use our own tools.
  {
    file: "codex.js",
    sources: ["src/engines/codex/engine.ts"],
    after: "codex-program.js",
    apartFrom: ["review.js", "scripted.js", "sandbox.js", "tools.js", "native-services.js", "agent-servers.js"],
  },
  { file: "token.js", sources: ["src/cli/showToken.ts"], after: "server.js", apartFrom: "all" },
  { file: "open-console.js", sources: ["src/cli/openConsole.ts"], after: "server.js", apartFrom: "all" },
  { file: "doctor.js", sources: ["src/cli/doctor.ts"], after: "server.js", apartFrom: "all" },
];
const LIBRARIES = [{ file: "web-tree-sitter.js", source: "node_modules/web-tree-sitter/web-tree-sitter.js" }];
/** The bash grammar for judging commands, loaded with the first command. */
const GRAMMAR_FILES = ["web-tree-sitter/web-tree-sitter.wasm", "tree-sitter-bash/tree-sitter-bash.wasm"];

const OPTIONS = {
  bundle: true,
  platform: "node",
  format: "cjs",
  target: "node20",
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: "none",
  define: { "import.meta.url": "bundleUrl" },
  // Later files are loaded with `require`, from the folder of the loading file.
  supported: { "dynamic-import": false },
  metafile: true,
  logLevel: "warning",
};
const HASHBANG = "#!/usr/bin/env node";
/** Computing the URL takes time, so only the files that use `import.meta.url` do it. */
const URL_OF_BUNDLE = 'const bundleUrl = require("node:url").pathToFileURL(__filename).href;';
const WITH_URL = ["rules.js", "http.js", "web-tree-sitter.js"];

/**
 * An upgrade replaces the files of a running server, which loads most of them late. Files of two versions do not fit together: the first that is loaded
 * decides which version the process has.
 */
const VERSION = JSON.parse(readFileSync("package.json", "utf8")).version;
const REPLACED = `codex-mcpd was replaced by version ${VERSION} while this server runs. Restart the server: in most clients, reconnect it.`;
const ONE_VERSION = `if ((globalThis.codexMcpdVersion ??= "${VERSION}") !== "${VERSION}") throw Object.assign(new Error("${REPLACED}"), { name: "ServerReplaced" });`;

const results = await bundle({
  files: FILES,
  libraries: LIBRARIES,
  options: OPTIONS,
  bannerOf: (file) =>
    [file === "main.js" ? HASHBANG : undefined, ONE_VERSION, WITH_URL.includes(file) ? URL_OF_BUNDLE : undefined]
      .filter(Boolean)
      .join("\n"),
});

for (const file of readdirSync("dist").filter((name) => name.endsWith(".js") && !WITH_URL.includes(name)))
  if (readFileSync(path.join("dist", file), "utf8").includes("bundleUrl"))
    throw new Error(`${file} uses import.meta.url: add it to WITH_URL`);

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

/** Files of earlier builds are removed last, so that a server that runs from this folder can still load files that have not changed. */
function removeStale(current) {
  for (const entry of readdirSync("dist", { recursive: true, withFileTypes: true })) {
    const file = path.posix.join(entry.parentPath, entry.name);
    // The console has a build of its own.
    if (file.startsWith("dist/console/")) continue;
    // `force`, because another build may have removed the file.
    if (entry.isFile() && !current.has(file)) rmSync(file, { force: true });
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
