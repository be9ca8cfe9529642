import { randomUUID } from "node:crypto";
import { environmentOf, isRunning, livingProcesses, ownRun, parseRun, runName } from "../../platform/processes.js";
import type { Launch } from "../launch.js";
import type { ConfinedCommand } from "./confinement.js";

/** Names the server and the command in the environment of everything the command starts. */
export const MARK = "CODEX_MCPD_EXEC_ID";

/** No namespace: what leaves the command's process group is found by a mark, and after a crash only by the next server. */
export function launchPlainly({ argv, cwd, env }: ConfinedCommand): Launch {
  const id = `${runName(ownRun())}.${randomUUID()}`;
  const [program = "", ...args] = argv;
  return {
    program,
    args,
    cwd,
    env: { ...env, [MARK]: id },
    descriptors: [],
    containment: { kind: "group", mark: `${MARK}=${id}` },
    release: () => [],
  };
}

/** Ends what commands of servers that are over have left running. Returns how many those were. */
export function sweepLeftovers(): number {
  const leftovers = livingProcesses().filter(({ pid }) => {
    const mark = environmentOf(pid).find((entry) => entry.startsWith(`${MARK}=`));
    const owner = mark && parseRun(mark.slice(MARK.length + 1, mark.lastIndexOf(".")));
    return owner && owner.place === ownRun().place && !isRunning(owner);
  });
  for (const { pid } of leftovers) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It ended by itself meanwhile.
    }
  }
  return leftovers.length;
}
