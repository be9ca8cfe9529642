/** The folders that each folder may import besides itself: only those in lower rows of the picture in docs/architecture.md. */
export const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  "start.ts": ["main.ts", "config", "platform"],
  "main.ts": ["cli", "server", "lib", "platform"],
  cli: ["server", "http", "mcp", "agent", "config", "engines", "threads", "approvals", "exec", "observability", "platform", "lib"],
  server: [
    "codexrpc",
    "mcp",
    "api",
    "http",
    "agent",
    "config",
    "engines",
    "stores",
    "tasks",
    "threads",
    "approvals",
    "exec",
    "jsonrpc",
    "observability",
    "platform",
    "lib",
  ],
  codexrpc: ["mcp", "jsonrpc", "agent", "codexwire", "config", "threads", "approvals", "exec", "observability", "lib"],
  mcp: ["http", "jsonrpc", "agent", "codexwire", "tasks", "threads", "approvals", "exec", "observability", "lib"],
  api: ["http", "agent", "threads", "approvals", "exec", "lib"],
  http: ["lib"],
  agent: ["threads", "approvals", "exec", "config", "observability", "platform", "lib"],
  engines: ["threads", "approvals", "exec", "jsonrpc", "observability", "platform", "lib"],
  stores: ["codexwire", "tasks", "threads", "exec", "platform", "lib"],
  codexwire: ["threads", "approvals", "lib"],
  tasks: ["lib"],
  config: ["threads", "exec", "platform", "lib"],
  threads: ["approvals", "exec", "lib"],
  approvals: ["exec", "lib"],
  exec: ["platform", "lib"],
  jsonrpc: ["lib"],
  observability: ["lib"],
  platform: ["lib"],
  lib: [],
};

/**
 * The files that may read from disk directly, and what they read. A file that a model, a caller or a repository names is read only through `lib/files`,
 * which checks that it is a regular file within limits, not hidden from commands, and not a link out of the readable folders.
 */
export const READERS: Readonly<Record<string, string>> = {
  "exec/sandbox/folderEntries.ts": "names of a workspace's entries, for a search within bounds; no contents",
  "exec/changes/fileStates.ts": "names and states of a workspace's entries, within bounds and never through links; no contents",
  "lib/files/guardedRead.ts": "the reader for files that others name",
  "lib/files/smallFile.ts": "the same for small files, without waiting",
  "exec/patch/places.ts": "holds folders; their entries are read by the reader",
  "exec/patch/steps.ts": "writes a new file beside the one it replaces",
  "exec/sandbox/placeholders.ts": "holds folders",
  "exec/sandbox/watchedNames.ts": "holds folders",
  "exec/sandbox/mountAliases.ts": "the kernel's table of mounts",
  "exec/commandLimits.ts": "how many processes there are",
  "exec/sandbox/tree.ts": "holds folders to be mounted",
  "exec/pipes.ts": "pipes and nameless files of our own making",
  "platform/processes.ts": "processes, by their number; our own claims below CODEX_HOME",
  "platform/paths.ts": "names of a folder's entries, within bounds; no contents",
  "exec/ownProcesses.ts": "processes, by their number",
  "exec/startProgram.ts": "our own descriptors",
  "exec/safety/bash/grammar.ts": "part of the package",
  "exec/safety/rules/rules.ts": "the user's rules in CODEX_HOME",
  "config/configFile.ts": "the user's configuration in CODEX_HOME",
  "config/userConfig.ts": "the user's configuration in CODEX_HOME, to change it",
  "observability/logFile.ts": "our log, to append to, and its lock",
  "engines/codex/appServer/findBinary.ts": "the first bytes of the program that is about to be run",
  "engines/native/model/provider.ts": "the user's credentials in CODEX_HOME",
  "engines/native/services/keyAccount.ts": "the user's credentials in CODEX_HOME",
  "http/access/local/localLogin.ts": "the kernel's settings of users",
  "http/access/local/tcpTable.ts": "the kernel's table of connections",
  "http/access/tokens/ownToken.ts": "our own token below CODEX_HOME",
  "http/access/tls.ts": "certificate and key that the operator names",
  "http/access/tokens/knownTokens.ts": "the token file that the operator names",
  "http/access/oauth/issuer.ts": "the keys that the operator names",
  "stores/files/threads/rolloutCatalog.ts": "rollouts, found below CODEX_HOME",
  "stores/files/namedSessions.ts": "our own notes below CODEX_HOME",
  "stores/files/owners.ts": "our own notes below CODEX_HOME",
  "server/apiEntry.ts": "the console, part of the package",
  "stores/files/threads/rolloutPaths.ts": "rollouts, found below CODEX_HOME",
  "stores/files/threads/shelfPack.ts": "our own index below CODEX_HOME",
  "stores/files/threads/packWriter.ts": "our own index below CODEX_HOME, to write it",
  "stores/files/threads/rolloutFile.ts": "rollouts, to append to",
  "stores/files/sharedSecret.ts": "our own secret below CODEX_HOME",
  "stores/files/tasks.ts": "our own notes below CODEX_HOME",
  "stores/files/wholeFile.ts": "our own notes below CODEX_HOME, to write them",
  "stores/files/threads/threadHead.ts": "rollouts, found below CODEX_HOME",
  "stores/files/threads/threadTitles.ts": "the titles that Codex keeps in CODEX_HOME",
  "stores/files/threads/threadLines.ts": "rollouts, found below CODEX_HOME",
};

/**
 * Known exceptions to the rules. Do not add any; remove the line of one that is fixed.
 */
export const STILL_OPEN: StillOpen = {
  upwardImports: [],
  mutualFolders: [],
  namesExportedTwice: [],
  longFiles: [],
  scrapCount: 9,
};

interface StillOpen {
  readonly upwardImports: readonly string[];
  readonly mutualFolders: readonly string[];
  readonly namesExportedTwice: readonly string[];
  readonly longFiles: readonly string[];
  /** How many short files may have a single importer. */
  readonly scrapCount: number;
}
