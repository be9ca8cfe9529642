import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const SRC = fileURLToPath(new URL("../src", import.meta.url));

/** What each folder may import besides itself: downward in the picture of docs/architecture.md, never up. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  "main.ts": ["cli", "server", "lib", "platform"],
  cli: ["server", "http", "mcp", "agent", "config", "engines", "exec", "observability", "platform", "lib"],
  server: [
    "mcp",
    "http",
    "agent",
    "config",
    "engines",
    "stores",
    "threads",
    "approvals",
    "exec",
    "jsonrpc",
    "observability",
    "platform",
    "lib",
  ],
  mcp: ["http", "jsonrpc", "agent", "threads", "approvals", "exec", "observability", "lib"],
  http: ["lib"],
  agent: ["threads", "approvals", "exec", "config", "observability", "lib"],
  engines: ["threads", "approvals", "exec", "jsonrpc", "observability", "platform", "lib"],
  stores: ["threads", "exec", "platform", "lib"],
  config: ["threads", "exec", "lib"],
  threads: ["approvals", "exec", "lib"],
  approvals: ["exec", "lib"],
  exec: ["platform", "lib"],
  jsonrpc: ["lib"],
  observability: ["lib"],
  platform: ["main.ts", "lib"],
  lib: [],
};

/** Edges that still point up from before the rooms were made. None may be added; whoever turns one round removes its line. */
const STILL_UPWARD: readonly string[] = [
  "agent/threadList.ts imports mcp/tools/agent.ts",
  "agent/threadList.ts imports mcp/tools/own/answers.ts",
  "agent/turnLimiter.ts imports jsonrpc/errors.ts",
  "cli/command.ts imports approvals/fallback.ts",
  "cli/doctor.ts imports threads/settings.ts",
  "cli/doctorCodex.ts imports threads/settings.ts",
  "http/answers.ts imports jsonrpc/errors.ts",
  "http/answers.ts imports jsonrpc/message.ts",
  "http/server.ts imports mcp/over/streamableHttp/endpoint.ts",
  "http/sse.ts imports jsonrpc/message.ts",
  "http/sse.ts imports mcp/over/streamableHttp/outbox.ts",
  "http/sse.ts imports mcp/over/streamableHttp/replayBuffer.ts",
  "http/sse.ts imports mcp/over/streamableHttp/stream.ts",
  "http/statusRoutes.ts imports agent/scopes.ts",
  "http/statusRoutes.ts imports mcp/over/streamableHttp/httpSession.ts",
  "http/visit.ts imports mcp/over/streamableHttp/findSession.ts",
  "http/visit.ts imports mcp/over/streamableHttp/statelessPost.ts",
  "server/context.ts imports cli/command.ts",
  "server/httpContext.ts imports cli/listenOptions.ts",
  "server/network.ts imports cli/listenOptions.ts",
  "server/serveHttp.ts imports cli/clientEntry.ts",
  "server/serveHttp.ts imports cli/listenOptions.ts",
  "agent/ceilings/ceilings.ts imports cli/flagValues.ts",
  "agent/watch/callTrail.ts imports mcp/call.ts",
  "agent/watch/callTrail.ts imports mcp/tools/tool.ts",
  "http/access/accessTokens.ts imports agent/caller.ts",
  "http/access/admission.ts imports agent/caller.ts",
  "http/access/gate.ts imports agent/caller.ts",
  "http/access/insiders.ts imports mcp/inside.ts",
  "http/access/localDoor.ts imports agent/caller.ts",
  "http/access/tokenFile.ts imports agent/caller.ts",
  "http/access/tokenTable.ts imports agent/caller.ts",
];

const IMPORT = /(?:^(?:import|export)\s[^"';]*?from\s*|^import\s+|\bimport\(\s*)"(\.[^"]+)\.js"/gm;

const sources = new Map(
  readdirSync(SRC, { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
    .map((file) => [file, readFileSync(path.join(SRC, file), "utf8")]),
);

/** Every file with the files it imports, types included. */
const graph = new Map(
  [...sources].map(([file, text]) => {
    const targets = [...text.matchAll(IMPORT)].map(([, target = ""]) => `${path.join(path.dirname(file), target)}.ts`);
    return [file, targets];
  }),
);

function partOf(file: string): string {
  return file.split(path.sep)[0] ?? file;
}

it("imports are understood, and lead to files that exist", () => {
  expect(graph.get("main.ts")).toContain("server/serveStdio.ts");
  expect(graph.get("server/serveStdio.ts")).toEqual(expect.arrayContaining(["mcp/sessions/session.ts", "server/openAgent.ts"]));
  expect([...graph.values()].flat().filter((file) => !sources.has(file))).toEqual([]);
});

it("every folder imports only what is below it", () => {
  const upward = [...graph].flatMap(([file, targets]) => {
    const allowed = [partOf(file), ...(ALLOWED[partOf(file)] ?? [])];
    return targets.filter((target) => !allowed.includes(partOf(target))).map((target) => `${file} imports ${target}`);
  });
  expect(upward.sort()).toEqual([...STILL_UPWARD].sort());
});

it("no file imports itself by a detour", () => {
  const finished = new Set<string>();
  const cycleFrom = (file: string, trail: readonly string[]): string | undefined => {
    if (trail.includes(file)) return [...trail.slice(trail.indexOf(file)), file].join(" → ");
    if (finished.has(file)) return undefined;
    const cycle = graph
      .get(file)
      ?.map((target) => cycleFrom(target, [...trail, file]))
      .find((found) => found !== undefined);
    finished.add(file);
    return cycle;
  };
  expect([...graph.keys()].flatMap((file) => cycleFrom(file, []) ?? [])).toEqual([]);
});

it("every name is exported once, by the file that owns it", () => {
  const barrels = [...sources].filter(([file, text]) => path.basename(file) === "index.ts" || /^export (?:\*|default\b)/m.test(text));
  expect(barrels.map(([file]) => file)).toEqual([]);
});

/** Functions that read a file's content, or hand out what can. */
const READING =
  /^(?:promises|default|\*|(?:open|openAsBlob|opendir|read|readv|readFile|copyFile|cp)(?:Sync)?|createReadStream|ReadStream|FileReadStream)$/;

/**
 * Who may read files by themselves, and whose files those are. What a model, a caller or a repository names is read by `lib/files` only:
 * bounded, regular files, nothing that is hidden from commands, no link that leaves what may be read.
 */
const READERS: Readonly<Record<string, string>> = {
  "exec/sandbox/guardedNames.ts": "names of a workspace's entries, within bounds and never through links; no contents",
  "lib/files/guardedRead.ts": "the reader for files that others name",
  "lib/files/smallFile.ts": "the same for small files, without waiting",
  "exec/patch/heldFolders.ts": "holds folders; their entries are read by the reader",
  "exec/patch/writeStep.ts": "writes a new file beside the one it replaces",
  "exec/sandbox/placeholders.ts": "holds folders, and makes empty files",
  "exec/sandbox/tree.ts": "holds folders to be mounted",
  "exec/namelessFile.ts": "a file without a name, of our own making",
  "exec/pipes.ts": "pipes of our own making",
  "platform/processTable.ts": "processes, by their number",
  "exec/ownProcesses.ts": "processes, by their number",
  "exec/strayDescriptors.ts": "our own descriptors",
  "exec/safety/bashWasm.ts": "part of the package",
  "exec/safety/rules.ts": "the user's rules in CODEX_HOME",
  "config/load.ts": "the user's configuration in CODEX_HOME",
  "observability/logFile.ts": "our log, to append to",
  "observability/rotateLog.ts": "the lock of our log",
  "engines/codex/findBinary.ts": "the first bytes of the program that is about to be run",
  "engines/native/model/credentials.ts": "the user's credentials in CODEX_HOME",
  "engines/native/services/keyAccount.ts": "the user's credentials in CODEX_HOME",
  "http/access/peers.ts": "the kernel's settings of users",
  "http/access/tcpTable.ts": "the kernel's table of connections",
  "http/access/ownToken.ts": "our own token below CODEX_HOME",
  "http/access/tls.ts": "certificate and key that the operator names",
  "http/access/knownTokens.ts": "the token file that the operator names",
  "http/access/issuer.ts": "the keys that the operator names",
  "platform/start/compiledFiles.ts": "our own program and its compiled code",
  "stores/files/catalog.ts": "rollouts, found below CODEX_HOME",
  "stores/files/fork.ts": "rollouts, found below CODEX_HOME",
  "stores/files/owners.ts": "our own notes below CODEX_HOME",
  "stores/files/path.ts": "rollouts, found below CODEX_HOME",
  "stores/files/reader.ts": "rollouts, found below CODEX_HOME",
  "stores/files/rolloutFile.ts": "rollouts, to append to",
  "stores/files/runningProcess.ts": "processes, by their number",
  "stores/files/taskFiles.ts": "our own notes below CODEX_HOME",
  "stores/files/threadHead.ts": "rollouts, found below CODEX_HOME",
  "stores/files/threadLines.ts": "rollouts, found below CODEX_HOME",
  "stores/files/tornLine.ts": "the end of a rollout that is open",
  "stores/files/writerLock.ts": "our own locks below CODEX_HOME",
};

const FILE_SYSTEM_IMPORT = /^import\s+([^"';]*?)\s+from\s*"(?:node:)?fs(?:\/promises)?"/gm;
const HIDDEN_IMPORT = /(?:\bimport|require|getBuiltinModule|createRequire\([^)]*\))\??\.?\(\s*["'`](?:node:)?fs\b/;

/** `a`, `b as c` and `type d` of an import; `default` and `*` for the whole. */
function importedNames(clause: string): string[] {
  if (clause.startsWith("type ")) return [];
  const [whole = "", listed = ""] = clause.split("{");
  const names = listed.replace("}", "").split(",");
  return [
    ...(whole.includes("*") ? ["*"] : /\w/.test(whole) ? ["default"] : []),
    ...names.map((name) => name.trim().split(" as ")[0] ?? ""),
  ];
}

it("files that others name are read by the reader and by nobody else", () => {
  const readers = [...sources].filter(([, text]) =>
    [...text.matchAll(FILE_SYSTEM_IMPORT)].some(([, clause = ""]) => importedNames(clause).some((name) => READING.test(name))),
  );
  expect(readers.map(([file]) => file).sort()).toEqual(Object.keys(READERS).sort());
  expect([...sources].filter(([, text]) => HIDDEN_IMPORT.test(text)).map(([file]) => file)).toEqual([]);
});

it("a reader is known by what it imports", () => {
  expect(importedNames("{ existsSync, readFileSync as read, type Stats }")).toEqual(["existsSync", "readFileSync", "type Stats"]);
  expect([importedNames("fs"), importedNames("* as fs"), importedNames("type { FileHandle }")]).toEqual([["default", ""], ["*", ""], []]);
  expect(
    ["readFileSync", "open", "promises", "*", "default", "statSync", "readlink", "realpath"].filter((name) => READING.test(name)),
  ).toEqual(["readFileSync", "open", "promises", "*", "default"]);
});
