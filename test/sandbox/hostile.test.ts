import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { COMMAND_MARK } from "../../src/exec/commandMark.js";
import { sweepLeftovers } from "../../src/exec/killTree.js";
import type { Launch } from "../../src/exec/launch.js";
import { type CommandResult, type RunOptions, runCommand } from "../../src/exec/run.js";
import type { ConfinedCommand } from "../../src/exec/sandbox/fileView.js";
import { commandLineOf, livingProcesses } from "../../src/platform/processes.js";
import { bundle } from "../support/processes/bundledProgram.js";
import { isMissing } from "./available.js";
import { livingAfter, livingWith } from "./living.js";
import { type HostSurroundings, launcherFor, SURROUNDINGS, UNREADY_SANDBOX } from "./surroundings.js";

/** Long enough for a busy machine: the kernel may need time to end killed processes. */
const GONE_WITHIN_MS = 10_000;

/** Each prints `ready` when all its processes are running. */
const HOSTILE_COMMANDS = {
  "starts children": "sleep 1000 & sleep 1000 & echo ready; wait",
  "never ends": "echo ready; exec sleep 1000",
  "ignores TERM": "trap '' TERM INT HUP; echo ready; while :; do sleep 1000; done",
  "leaves its session": "setsid --fork sleep 1000; setsid --fork bash -c \"trap '' TERM; sleep 1000 & wait\"; echo ready; sleep 1000",
  "forks twice and lets go of its output":
    "(setsid bash -c 'exec >/dev/null 2>&1 </dev/null; (sleep 1000 &) ; (sleep 1000 &)' &); sleep 0.1; echo ready; sleep 1000",
  "floods its output": "yes ready",
} as const;

const WITHOUT_A_TRACE = { survivors: [] };

let folder: string;
let host: string;
beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "hostile-"));
  host = path.join(folder, "host.mjs");
  await bundle("commandHost.ts", host);
  return () => rmSync(folder, { recursive: true, force: true });
});

describe.skipIf(isMissing).each(SURROUNDINGS)("in %s", (surroundings) => {
  let launch: (command: ConfinedCommand) => Launch;
  beforeAll(async () => {
    launch = await launcherFor(surroundings);
  });

  function run(script: string, mark: string, options?: RunOptions): Promise<CommandResult> {
    return runCommand(launch({ argv: ["bash", "-c", `${script} # ${mark}`], cwd: folder, env: environment(mark) }), options).result;
  }

  describe.each(Object.entries(HOSTILE_COMMANDS))("a command that %s", (_, script) => {
    it("is gone with everything it started when its cancellation is over", async () => {
      const mark = randomUUID();
      const cancelling = new AbortController();
      const { ended } = await run(script, mark, { signal: cancelling.signal, onOutput: () => cancelling.abort() });
      expect({ ended, survivors: livingWith(mark) }).toEqual({ ended: "cancelled", ...WITHOUT_A_TRACE });
    });

    it("is gone with everything it started when its time is over", async () => {
      const mark = randomUUID();
      const { ended, exitCode } = await run(script, mark, { timeoutMs: 150 });
      expect({ ended, exitCode, survivors: livingWith(mark) }).toEqual({ ended: "timedOut", exitCode: 124, ...WITHOUT_A_TRACE });
    });

    it("is gone soon after the server is killed", async () => {
      const mark = randomUUID();
      await killedHost(surroundings, script, mark);
      expect({ survivors: await livingAfter(GONE_WITHIN_MS, mark) }).toEqual(WITHOUT_A_TRACE);
    });
  });

  it("what a command leaves running ends with it", async () => {
    const mark = randomUUID();
    const script = "setsid --fork sleep 1000; setsid --fork sleep 1000 >/dev/null 2>&1; sleep 1000 & exit 5";
    const { ended, exitCode } = await run(script, mark);
    expect({ ended, exitCode, survivors: livingWith(mark) }).toEqual({ ended: "exited", exitCode: 5, ...WITHOUT_A_TRACE });
  });

  it("nothing starts if it was cancelled before", async () => {
    const mark = randomUUID();
    const { ended, stdout } = await run("echo started", mark, { signal: AbortSignal.abort() });
    expect({ ended, stdout }).toEqual({ ended: "cancelled", stdout: "" });
  });
});

// Bubblewrap's child waits for ever if bubblewrap is killed between the start of the child and its first message to it.
describe.skipIf(isMissing)("a sandbox program of two processes that do not notice each other's end", () => {
  beforeAll(async () => {
    await writeFile(path.join(folder, UNREADY_SANDBOX), UNREADY_SANDBOX_SCRIPT, { mode: 0o755 });
  });

  it("leaves no process when the outer one is killed", async () => {
    const mark = randomUUID();
    const launch = await launcherFor("a sandbox in set-up");
    const argv = ["the outer one dies", mark];
    const { exitCode } = await runCommand(launch({ argv, cwd: folder, env: environment(mark) })).result;
    expect({ exitCode, survivors: livingWith(mark) }).toEqual({ exitCode: 137, ...WITHOUT_A_TRACE });
  });

  it("leaves no process soon after the server is killed", async () => {
    const mark = randomUUID();
    await killedHost("a sandbox in set-up", "true", mark);
    expect({ survivors: await livingAfter(GONE_WITHIN_MS, mark) }).toEqual(WITHOUT_A_TRACE);
  });
});

it.skipIf(isMissing)("processes that outlive a killed server and its cleaner are ended by the next server", async () => {
  const mark = randomUUID();
  // Another test may start a server at the same moment and remove the leftovers first.
  for (let attempt = 0; attempt < 5 && livingWith(mark).length === 0; attempt++)
    await killedHost("nothing", HOSTILE_COMMANDS["leaves its session"], mark, { cleanerFirst: true });
  const before = livingWith(mark).length;
  sweepLeftovers();
  expect({ left: before > 0, survivors: await livingAfter(GONE_WITHIN_MS, mark) }).toEqual({ left: true, ...WITHOUT_A_TRACE });
});

const UNREADY_SANDBOX_SCRIPT = `#!/bin/sh
[ "$1" = child ] || setsid "$0" child "$@" &
echo ready
case "$*" in
  child*) ;;
  *"the outer one dies"*) kill -KILL $$ ;;
esac
sleep 1000
`;

interface KillOptions {
  /** Kills the server's cleaner before the server. */
  readonly cleanerFirst?: boolean;
}

async function killedHost(surroundings: HostSurroundings, script: string, mark: string, { cleanerFirst }: KillOptions = {}): Promise<void> {
  const server = spawn(process.execPath, [host, surroundings, folder, `export MARK=${mark}; ${script}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(server.stdout, "data");
  if (cleanerFirst) for (const pid of cleanersOf(server.pid ?? 0)) process.kill(pid, "SIGKILL");
  server.kill("SIGKILL");
  await once(server, "exit");
  server.stdout.destroy();
}

function cleanersOf(server: number): number[] {
  return livingProcesses()
    .filter(({ pid }) => commandLineOf(pid).some((word) => word.startsWith(COMMAND_MARK) && word.includes(`.${server}-`)))
    .map(({ pid }) => pid);
}

function environment(mark: string): Record<string, string> {
  return { PATH: process.env["PATH"] ?? "", MARK: mark };
}
