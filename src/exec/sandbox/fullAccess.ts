import { getuid } from "node:process";
import { COMMAND_MARK, markEntry, newCommandMark } from "../commandMark.js";
import { ProgramNotStarted } from "../errors.js";
import type { Launch } from "../launch.js";
import { systemProgram } from "../outside/outsidePrograms.js";
import type { ConfinedCommand } from "./fileView.js";

/** Without a namespace: processes that leave the command's process group are found by a mark. */
export function launchPlainly({ argv, cwd, env }: ConfinedCommand): Launch {
  const mark = newCommandMark();
  const [program = "", ...args] = argv;
  return {
    program,
    args,
    cwd,
    env: { ...env, [COMMAND_MARK]: mark },
    descriptors: [],
    containment: { kind: "group", mark: markEntry(mark) },
    release: () => [],
  };
}

/** A PID namespace made with `unshare`, which every Linux has, for full access where there is no bubblewrap. */
export function launchUnshared({ argv, cwd, env }: ConfinedCommand): Launch {
  const mark = newCommandMark();
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
    env: { ...env, [COMMAND_MARK]: mark },
    descriptors: [],
    containment: { kind: "namespace", mark: markEntry(mark) },
    release: () => [],
  };
}

function missing(program: string): never {
  throw new ProgramNotStarted(program, "it is not in a folder of the system");
}
