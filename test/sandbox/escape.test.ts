import { execFile, execFileSync } from "node:child_process";
import { chmodSync, chownSync, closeSync, copyFileSync, mkdirSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { bundle } from "../support/processes/bundledProgram.js";
import { ATTEMPTS, type Outcome } from "./attempts.js";
import { isMissing } from "./available.js";

const NOBODY = 65_534;
const AS_NOBODY = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", "--"];
/** Above the first gap in the numbers, where Node does not notice it. */
const STRAY_DESCRIPTOR = 40;
const SUITE_MS = 120_000;

const startedByRoot = process.getuid?.() === 0;
const USERS = startedByRoot ? (["root", "an ordinary user"] as const) : (["an ordinary user"] as const);

describe.skipIf(isMissing).each(USERS)("a sandboxed command of %s", (user) => {
  const outcomes = new Map<string, Outcome>();

  beforeAll(async () => {
    const folder = mkdtempSync(path.join(tmpdir(), "escape-"));
    try {
      for (const outcome of await playAttempts(folder, user)) outcomes.set(outcome.name, outcome);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }, SUITE_MS);

  it.each(ATTEMPTS)("cannot $name", ({ name }) => {
    const { confined, free } = outcomes.get(name) ?? {};
    expect(confined).toEqual({ ended: "exited", escaped: false, damage: [], said: confined?.said });
    if (free) expect(free, "the attempt works without a sandbox").toMatchObject({ escaped: true });
  });

  it("has more than twenty attempts that succeed without a sandbox", () => {
    expect([...outcomes.values()].filter(({ free }) => free).length).toBeGreaterThan(20);
  });
});

async function playAttempts(folder: string, user: (typeof USERS)[number]): Promise<Outcome[]> {
  const program = path.join(folder, "attempts.mjs");
  await bundle("escapeAttempts.ts", program);
  const stages = path.join(folder, "stages");
  mkdirSync(stages);
  chmodSync(folder, 0o755);
  const dropRights = startedByRoot && user !== "root";
  if (dropRights) chownSync(stages, NOBODY, NOBODY);
  const node = dropRights ? nodeFor(AS_NOBODY, folder) : process.execPath;
  const argv = [
    ...(dropRights ? AS_NOBODY : []),
    node,
    program,
    stages,
    startedByRoot ? setuidShell(folder) : "",
    String(STRAY_DESCRIPTOR),
  ];
  const stray = path.join(folder, "stray");
  closeSync(openSync(stray, "w"));
  chmodSync(stray, 0o666);
  const script = `exec ${STRAY_DESCRIPTOR}>>"$STRAY"; exec "$@"`;
  const { stdout } = await promisify(execFile)("bash", ["-c", script, "bash", ...argv], {
    env: { PATH: process.env["PATH"] ?? "", HOME: folder, STRAY: stray },
    maxBuffer: 16 * 1024 * 1024,
  });
  return stdout
    .split("\n")
    .filter(Boolean)
    .map((line): Outcome => JSON.parse(line));
}

/** Other users cannot run a Node in the user's home folder. */
function nodeFor(asUser: readonly string[], folder: string): string {
  try {
    execFileSync(asUser[0] ?? "", [...asUser.slice(1), process.execPath, "--version"], { stdio: "ignore" });
    return process.execPath;
  } catch {
    const copy = path.join(folder, "node");
    copyFileSync(process.execPath, copy);
    chmodSync(copy, 0o755);
    return copy;
  }
}

function setuidShell(folder: string): string {
  const shell = path.join(folder, "setuid-shell");
  copyFileSync("/bin/bash", shell);
  chmodSync(shell, 0o4755);
  return shell;
}
