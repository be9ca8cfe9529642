import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const SRC = fileURLToPath(new URL("../src", import.meta.url));

/** What each folder may import besides itself: downward in the picture of docs/architecture.md, never up. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  start: ["main.ts", "lib"],
  "main.ts": ["cli", "lib"],
  cli: ["config", "transports", "mcp", "threads", "approvals", "engines", "rollouts", "exec", "jsonrpc", "observability", "lib"],
  config: ["threads", "lib"],
  transports: ["mcp", "jsonrpc", "lib"],
  mcp: ["threads", "approvals", "jsonrpc", "observability", "lib"],
  engines: ["threads", "approvals", "exec", "jsonrpc", "observability", "lib"],
  rollouts: ["threads", "lib"],
  threads: ["approvals", "lib"],
  exec: ["threads", "approvals", "lib"],
  approvals: ["lib"],
  jsonrpc: ["lib"],
  observability: ["lib"],
  lib: [],
};

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
  expect(graph.get("main.ts")).toContain("cli/serveStdio.ts");
  expect(graph.get("cli/serveStdio.ts")).toEqual(expect.arrayContaining(["mcp/session.ts", "cli/agent.ts"]));
  expect([...graph.values()].flat().filter((file) => !sources.has(file))).toEqual([]);
});

it("every folder imports only what is below it", () => {
  const upward = [...graph].flatMap(([file, targets]) => {
    const allowed = [partOf(file), ...(ALLOWED[partOf(file)] ?? [])];
    return targets.filter((target) => !allowed.includes(partOf(target))).map((target) => `${file} imports ${target}`);
  });
  expect(upward).toEqual([]);
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
  "exec/processTable.ts": "processes, by their number",
  "exec/ownProcesses.ts": "processes, by their number",
  "exec/strayDescriptors.ts": "our own descriptors",
  "exec/safety/bashWasm.ts": "part of the package",
  "exec/safety/rules.ts": "the user's rules in CODEX_HOME",
  "config/load.ts": "the user's configuration in CODEX_HOME",
  "observability/logFile.ts": "our log, to append to",
  "observability/rotateLog.ts": "the lock of our log",
  "engines/codex/findBinary.ts": "the first bytes of the program that is about to be run",
  "engines/native/model/credentials.ts": "the user's credentials in CODEX_HOME",
  "engines/native/offers/authFile.ts": "the user's credentials in CODEX_HOME",
  "transports/http/access/peers.ts": "the kernel's settings of users",
  "transports/http/access/tcpTable.ts": "the kernel's table of connections",
  "transports/http/access/ownToken.ts": "our own token below CODEX_HOME",
  "transports/http/access/tls.ts": "certificate and key that the operator names",
  "transports/http/access/knownTokens.ts": "the token file that the operator names",
  "transports/http/access/issuer.ts": "the keys that the operator names",
  "start/compiledFiles.ts": "our own program and its compiled code",
  "rollouts/catalog.ts": "rollouts, found below CODEX_HOME",
  "rollouts/fork.ts": "rollouts, found below CODEX_HOME",
  "rollouts/owners.ts": "our own notes below CODEX_HOME",
  "rollouts/path.ts": "rollouts, found below CODEX_HOME",
  "rollouts/reader.ts": "rollouts, found below CODEX_HOME",
  "rollouts/rolloutFile.ts": "rollouts, to append to",
  "rollouts/runningProcess.ts": "processes, by their number",
  "rollouts/taskFiles.ts": "our own notes below CODEX_HOME",
  "rollouts/threadHead.ts": "rollouts, found below CODEX_HOME",
  "rollouts/threadLines.ts": "rollouts, found below CODEX_HOME",
  "rollouts/tornLine.ts": "the end of a rollout that is open",
  "rollouts/writerLock.ts": "our own locks below CODEX_HOME",
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
