import { randomUUID } from "node:crypto";
import { getuid } from "node:process";
import { ownRun, runName } from "../../platform/processes.js";
import { ProgramNotStarted } from "../errors.js";
import { COMMAND_MARK } from "../killTree.js";
import type { Launch } from "../launch.js";
import { systemProgram } from "../outside/outsidePrograms.js";
import type { ConfinedCommand } from "./fileView.js";

/** Without a namespace: processes that leave the command's process group are found by a mark, and after a crash only by the next server. */
export function launchPlainly({ argv, cwd, env }: ConfinedCommand): Launch {
  const id = `${runName(ownRun())}.${randomUUID()}`;
  const [program = "", ...args] = argv;
  return {
    program,
    args,
    cwd,
    env: { ...env, [COMMAND_MARK]: id },
    descriptors: [],
    containment: { kind: "group", mark: `${COMMAND_MARK}=${id}` },
    release: () => [],
  };
}

/** A PID namespace made with `unshare`, which every Linux has, for full access where there is no bubblewrap. */
export function launchUnshared({ argv, cwd, env }: ConfinedCommand): Launch {
  const asOrdinaryUser = getuid?.() === 0 ? [] : ["--user", "--map-current-user"];
  return {
    program: systemProgram("setpriv") ?? missing("setpriv"),
    args: [
      "--pdeathsig",
      "KILL",
      systemProgram("unshare") ?? missing("unshare"),
      ...asOrdinaryUser,
      "--pid",
      "--fork",
      "--kill-child=KILL",
      "--mount-proc",
      "--",
      ...argv,
    ],
    cwd,
    env,
    descriptors: [],
    containment: { kind: "namespace" },
    release: () => [],
  };
}

function missing(program: string): never {
  throw new ProgramNotStarted(program, "it is not in a folder of the system");
}
