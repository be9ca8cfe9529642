// Plays the same calls on the released npm package codex-mcp-server and on our set codex-cli, under one client and one scripted model, and prints a table of
// the differences. The first run installs the package and a Codex into the cache folder; if that fails, the exit code is 1.
import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { cacheFolder, codexProgram } from "../bench/peers.js";
import { mockProvider } from "../test/support/model/mockProvider.js";
import { startResponsesServer } from "../test/support/model/responsesServer.js";
import { type ServerStart, startServer } from "../test/support/processes/mcpServer.js";
import { setStage } from "../test/support/stage.js";

const PACKAGE = "codex-mcp-server@1.4.10";
const CODEX = "0.166.0";
const DEADLINE_MS = 300_000;

const CALLS: readonly (readonly [tool: string, args: Readonly<Record<string, unknown>>])[] = [
  ["ping", { message: "Hello, server!" }],
  ["listSessions", {}],
  ["codex", { prompt: "!say hello" }],
  ["codex", { prompt: "!say one", sessionId: "s" }],
  ["codex", { prompt: "!say two", sessionId: "s" }],
  ["codex", { prompt: "!say three", sessionId: "s", resetSession: true }],
  ["codex", { prompt: "!shell touch made.txt\n!say done", fullAuto: true }],
  ["codex", { prompt: "!status 401" }],
  ["codex", { prompt: "!say x", workingDirectory: "/nowhere" }],
  ["codex", { prompt: "!say x", sessionId: "../x" }],
  ["codex", {}],
  ["review", { uncommitted: true }],
  ["review", { base: "main", prompt: "Focus on security" }],
  ["review", { base: "main", commit: "abc" }],
  ["review", { prompt: "x", uncommitted: true }],
  ["websearch", { query: "x", numResults: 51 }],
  ["websearch", { query: "x" }],
  ["nope", {}],
];

async function installed(signal: AbortSignal): Promise<string> {
  const folder = path.join(cacheFolder(), PACKAGE.replace("@", "-"));
  const entry = path.join(folder, "node_modules", "codex-mcp-server", "dist", "index.js");
  if (existsSync(entry)) return entry;
  mkdirSync(folder, { recursive: true });
  console.error(`installing ${PACKAGE} into ${folder}`);
  await promisify(execFile)("npm", ["install", "--prefix", folder, "--ignore-scripts", "--no-fund", "--no-audit", PACKAGE], { signal });
  return entry;
}

/** The answer to each call, without ids and times. */
async function answersOf(start: ServerStart): Promise<readonly string[]> {
  await using server = await startServer(start);
  await server.initialize();
  const answers: string[] = [];
  for (const [tool, args] of CALLS) answers.push(shown(await server.call(tool, args).result()));
  return answers;
}

const LONGEST = 150;

/** Sorts members, whose order has no meaning. */
function shown(result: unknown): string {
  const sorted = (_key: string, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => one.localeCompare(other)))
      : value;
  return JSON.stringify(result, sorted)
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, "ID")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replaceAll(/127\.0\.0\.1:\d+/g, "MODEL")
    .replaceAll(/\/var\/tmp\/scenario-\w+/g, "");
}

async function compare(): Promise<void> {
  const signal = AbortSignal.timeout(DEADLINE_MS);
  const entry = await installed(signal);
  const codex = await codexProgram({ version: CODEX, start: "native", signal });
  await using model = await startResponsesServer();
  const config = mockProvider(model.url);
  const play = async (start: ServerStart) => {
    await using stage = await setStage();
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.invalid", ...args], { cwd: stage.workspace });
    git("init", "--quiet", "--initial-branch=main");
    git("commit", "--quiet", "--allow-empty", "--message=first");
    writeFileSync(path.join(stage.workspace, "b.txt"), "new\n");
    return await answersOf({ ...start, stage, config });
  };
  const theirs = await play({
    command: [process.execPath, entry],
    args: [],
    env: { PATH: `${path.dirname(codex)}:${process.env["PATH"] ?? ""}`, CODEX_DEFAULT_MODEL: "mock-model" },
  });
  const ours = await play({
    command: [process.execPath, path.resolve("dist/main.js")],
    args: ["--engine", "codex", "--codex-bin", codex, "--tools", "codex-cli"],
  });
  console.log(`| call | ${PACKAGE} | here |\n|---|---|---|`);
  const cut = (text: string) => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);
  const cell = (text: string) => `\`${cut(text).replaceAll("|", "\\|").replaceAll("`", "'")}\``;
  for (const [at, [tool, args]] of CALLS.entries()) {
    const [one = "", other = ""] = [theirs[at], ours[at]];
    console.log(`| ${cell(`${tool} ${JSON.stringify(args)}`)} | ${cell(one)} | ${one === other ? "the same" : cell(other)} |`);
  }
}

try {
  await compare();
} catch (error) {
  console.error("The comparison could not be made:", error);
  process.exitCode = 1;
}
