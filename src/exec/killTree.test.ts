import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";
import { livingProcess } from "../platform/processes.js";
import { markEntry } from "./commandMark.js";
import { endStragglers, killAtOnce } from "./killTree.js";

const MARK = markEntry("a-place.1-1.a-command");

/** A program of somebody else, in a group of its own. */
async function startStranger(env: NodeJS.ProcessEnv) {
  const stranger = spawn("sleep", ["1000"], { env, detached: true, stdio: "ignore" });
  await once(stranger, "spawn");
  const pid = stranger.pid ?? Number.NaN;
  return { pid, [Symbol.dispose]: () => void stranger.kill("SIGKILL") };
}

/** The tree of a sandbox that has ended, and whose first process had this number. */
function endedTree(firstProcess: number) {
  // No process has this number: it is above the kernel's limit.
  return { pid: 2 ** 30, containment: { kind: "namespace", mark: MARK }, firstProcess: () => firstProcess } as const;
}

it.skipIf(process.platform !== "linux")("a process that got the number of a sandbox's first process is not killed", async () => {
  using stranger = await startStranger({ PATH: process.env["PATH"] });
  expect(await endStragglers(endedTree(stranger.pid))).toBe(true);
  killAtOnce(endedTree(stranger.pid));
  expect(livingProcess(stranger.pid)).toBeDefined();
});

it.skipIf(process.platform !== "linux")("the first process itself is killed", async () => {
  const [name = "", value = ""] = MARK.split("=");
  using first = await startStranger({ PATH: process.env["PATH"], [name]: value });
  expect(await endStragglers(endedTree(first.pid))).toBe(true);
  expect(livingProcess(first.pid)).toBeUndefined();
});
