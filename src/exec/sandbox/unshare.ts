import { getuid } from "node:process";
import { ProgramNotStarted } from "../errors.js";
import type { Launch } from "../launch.js";
import { systemProgram } from "../outside/systemPrograms.js";
import type { ConfinedCommand } from "./confinement.js";

/** A PID namespace with what every Linux has, for full access where there is no bubblewrap. */
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
