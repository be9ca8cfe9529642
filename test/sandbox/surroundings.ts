import path from "node:path";
import type { Launch } from "../../src/exec/launch.js";
import { WritablePlaces } from "../../src/exec/outside/outsidePrograms.js";
import type { SandboxPolicy } from "../../src/exec/policies.js";
import { openSandbox } from "../../src/exec/sandbox/backend.js";
import { contain } from "../../src/exec/sandbox/bubblewrap.js";
import type { ConfinedCommand } from "../../src/exec/sandbox/fileView.js";
import { launchUnshared } from "../../src/exec/sandbox/fullAccess.js";

/** The environments in which a command may be started, from the strictest one to none. */
export const SURROUNDINGS = ["a sandbox", "a PID namespace", "a PID namespace without bubblewrap", "nothing"] as const;
/** In the last one the sandbox program never starts the command. */
export const HOST_SURROUNDINGS = [...SURROUNDINGS, "a sandbox in set-up"] as const;
export type HostSurroundings = (typeof HOST_SURROUNDINGS)[number];

/** The name of a sandbox program, in the command's folder, whose set-up never ends. */
export const UNREADY_SANDBOX = "bwrap-in-set-up";

const WORKSPACE_WRITE: SandboxPolicy = {
  type: "workspace-write",
  network_access: false,
  exclude_slash_tmp: true,
  exclude_tmpdir_env_var: true,
};

export async function launcherFor(surroundings: HostSurroundings): Promise<(command: ConfinedCommand) => Launch> {
  if (surroundings === "a sandbox in set-up") return launchUnready;
  if (surroundings === "a PID namespace without bubblewrap") return launchUnshared;
  const sandbox = await openSandbox({ env: process.env, writable: new WritablePlaces([]), containFullAccess: surroundings !== "nothing" });
  const policy: SandboxPolicy = surroundings === "a sandbox" ? WORKSPACE_WRITE : { type: "danger-full-access" };
  return ({ argv, ...command }) => sandbox.wrap(argv, { ...command, policy, workspace: command.cwd });
}

function launchUnready(command: ConfinedCommand): Launch {
  return contain({ program: path.join(command.cwd, UNREADY_SANDBOX), disablesUserNamespaces: true, setsSizes: true }, command);
}
