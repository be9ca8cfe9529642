import { commandEnvironment } from "../../../exec/environment.js";
import { type CommandResult, runCommand } from "../../../exec/run.js";
import { allowsNetwork } from "../../../exec/sandbox/policy.js";
import type { ThreadSettings } from "../../../threads/model.js";
import type { OneOffCommand, OneOffResult } from "../../../threads/offers.js";
import type { Machine } from "../tools/machine.js";
import { secretVariables } from "../tools/secretVariables.js";

/** Where a command runs that belongs to no thread. */
export interface OneOffPlace {
  readonly machine: Machine;
  readonly settings: ThreadSettings;
}

/** Nobody is asked: the command runs in the sandbox it names, or not at all. Rejects with the signal's reason once nothing of it lives any more. */
export async function runOnce(
  { argv, cwd, sandboxPolicy: policy, timeoutMs, check }: OneOffCommand,
  { machine, settings }: OneOffPlace,
  signal: AbortSignal,
): Promise<OneOffResult> {
  const sandbox = await machine.sandbox();
  signal.throwIfAborted();
  const env = commandEnvironment(settings.shellEnvironment, machine.env, {
    secrets: secretVariables(settings.provider),
    network: allowsNetwork(policy),
    sandbox: sandbox.backend,
  });
  check?.();
  const result = await runCommand(sandbox.wrap(argv, { policy, workspace: cwd, cwd, env }), { timeoutMs, signal }).result;
  if (result.ended === "cancelled") throw signal.reason;
  return { exitCode: result.exitCode, stdout: result.stdout, stderr: withOmission(result) };
}

/** Output is kept up to a size, its beginning and its end. */
function withOmission({ stderr, omittedBytes }: CommandResult): string {
  return omittedBytes === 0 ? stderr : `${stderr}\n(${omittedBytes} bytes in the middle of the output are left out)\n`;
}
