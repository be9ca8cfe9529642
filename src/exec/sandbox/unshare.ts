import { getuid } from "node:process";
import type { Launch } from "../launch.js";
import type { ConfinedCommand } from "./confinement.js";

/** A PID namespace with what every Linux has, for full access where there is no bubblewrap. */
export function launchUnshared({ argv, cwd, env }: ConfinedCommand): Launch {
  const asOrdinaryUser = getuid?.() === 0 ? [] : ["--user", "--map-current-user"];
  return {
    program: "setpriv",
    args: ["--pdeathsig", "KILL", "unshare", ...asOrdinaryUser, "--pid", "--fork", "--kill-child=KILL", "--mount-proc", "--", ...argv],
    cwd,
    env,
    descriptors: [],
    containment: { kind: "namespace" },
    release: () => {},
  };
}
