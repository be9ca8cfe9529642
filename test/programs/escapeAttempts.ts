// Plays every attempt to escape, as the user who starts it, and prints the result of each.
//   escapeAttempts.mjs FOLDER SETUID_SHELL STRAY_DESCRIPTOR

import { commandEnvironment, DEFAULT_ENVIRONMENT_POLICY } from "../../src/exec/environment.js";
import { WritablePlaces } from "../../src/exec/outside/outsidePrograms.js";
import type { SandboxPolicy } from "../../src/exec/policies.js";
import { runCommand } from "../../src/exec/run.js";
import { openSandbox, type Sandbox } from "../../src/exec/sandbox/backend.js";
import { ATTEMPTS, type Attempt, type Outcome, type Played, type PolicyName } from "../sandbox/attempts.js";
import { hiddenIn, homeFolderIn, openStage, type Stage } from "../sandbox/stage.js";

const [folder = "", setuidShell = "", strayDescriptor = ""] = process.argv.slice(2);
const ATTEMPT_MS = 5_000;

/** The output of the attempt, and whether everything outside is unchanged. */
async function play(script: string, sandbox: Sandbox, policyOf: (stage: Stage) => SandboxPolicy): Promise<Played> {
  await using stage = await openStage(folder);
  const env = commandEnvironment(DEFAULT_ENVIRONMENT_POLICY, process.env, {
    secrets: ["PROVIDER_KEY"],
    network: false,
    sandbox: "bubblewrap",
  });
  const launch = sandbox.wrap(["bash", "-c", script], {
    policy: policyOf(stage),
    workspace: stage.workspace,
    cwd: stage.workspace,
    env: { ...env, ...stage.variables, SETUID_SHELL: setuidShell, STRAY_DESCRIPTOR: strayDescriptor },
  });
  const { aggregatedOutput, ended } = await runCommand(launch, { timeoutMs: ATTEMPT_MS }).result;
  return { ended, escaped: aggregatedOutput.includes("ESCAPED"), damage: stage.damage(), said: aggregatedOutput };
}

function policyNamed(name: PolicyName, stage: Stage): SandboxPolicy {
  const writable = { type: "workspace-write", exclude_slash_tmp: true, exclude_tmpdir_env_var: true, network_access: false } as const;
  switch (name) {
    case "read-only":
      return { type: "read-only" };
    case "workspace-write":
      return { ...writable, writable_roots: [stage.secondRoot] };
    case "home-writable":
      return { ...writable, writable_roots: [stage.homeFolder] };
    case "with network":
      return { ...writable, network_access: true };
  }
}

function isRealForMe({ worksFor, script }: Attempt): boolean {
  const me = process.getuid?.() === 0 ? "root" : "ordinary users";
  return (worksFor === "anyone" || worksFor === me) && !(script.includes("SETUID_SHELL") && setuidShell === "");
}

process.env["CODEX_MCP_TOKEN"] = "top-secret";
process.env["PROVIDER_KEY"] = "top-secret";
const where = { env: process.env, writable: new WritablePlaces([folder]) };
const confining = await openSandbox({ ...where, hidden: hiddenIn(homeFolderIn(folder)) });
const containing = await openSandbox(where);
const nothing = await openSandbox({ ...where, containFullAccess: false });

for (const attempt of ATTEMPTS) {
  const confined = await play(attempt.script, confining, (stage) => policyNamed(attempt.policy ?? "workspace-write", stage));
  const around = attempt.worksIn === "a PID namespace" ? containing : nothing;
  const free = isRealForMe(attempt) ? await play(attempt.script, around, () => ({ type: "danger-full-access" })) : undefined;
  process.stdout.write(`${JSON.stringify({ name: attempt.name, confined, free } satisfies Outcome)}\n`);
}
