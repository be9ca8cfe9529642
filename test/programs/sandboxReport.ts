// Prints the sandbox of the environment it is started in, and the result of a command under each policy.

import { WritablePlaces } from "../../src/exec/outside/outsidePrograms.js";
import type { SandboxPolicy } from "../../src/exec/policies.js";
import { runCommand } from "../../src/exec/run.js";
import { openSandbox } from "../../src/exec/sandbox/backend.js";
import { describe } from "../../src/lib/errors.js";

const sandbox = await openSandbox({ env: process.env, writable: new WritablePlaces([]) });

async function outcomeOf(policy: SandboxPolicy): Promise<string> {
  try {
    const env = { PATH: process.env["PATH"] ?? "" };
    return (await runCommand(sandbox.wrap(["echo", "ran"], { policy, workspace: "/", cwd: "/", env })).result).stdout;
  } catch (error) {
    return describe(error);
  }
}

const { backend, detail, fullAccess } = sandbox;
const readOnly = await outcomeOf({ type: "read-only" });
const free = await outcomeOf({ type: "danger-full-access" });
process.stdout.write(JSON.stringify({ backend, detail, fullAccess, readOnly, free }));
