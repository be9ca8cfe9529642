import { commandEnvironment } from "../../../exec/environment.js";
import type { Launch } from "../../../exec/launch.js";
import { MARK_VARIABLE, markText } from "../../../exec/nesting/turnMark.js";
import { type CommandResult, type RunOptions, runCommand } from "../../../exec/run.js";
import { allowsNetwork } from "../../../exec/sandbox/policy.js";
import type { OneOffCommand, OneOffResult } from "../../../threads/engineServices.js";
import type { ThreadSettings } from "../../../threads/settings.js";
import { secretVariables } from "../model/provider.js";
import type { HostEnvironment } from "../tools/hostEnvironment.js";
import { OWN_TMP, ThreadFiles } from "../tools/threadFiles.js";

/** Where a command without a thread runs. */
interface OneOffPlace {
  readonly host: HostEnvironment;
  readonly settings: ThreadSettings;
}

/**
 * No approval is requested: the command runs in the given sandbox, or not at all. Rejects with the signal's reason once all its processes
 * have ended.
 */
export async function runOneOffCommand(
  { argv, cwd, sandboxPolicy: policy, timeoutMs, check, reach }: OneOffCommand,
  { host, settings }: OneOffPlace,
  signal: AbortSignal,
): Promise<OneOffResult> {
  const sandbox = await host.sandbox();
  signal.throwIfAborted();
  const files = new ThreadFiles({ sandboxPolicy: policy }, host, { running: { reach }, workspace: host.workspaceOf(cwd) });
  await files.lookAround();
  const environment = commandEnvironment(settings.shellEnvironment, host.env, {
    secrets: secretVariables(settings.provider),
    network: allowsNetwork(policy),
    sandbox: sandbox.backend,
  });
  check?.();
  const { workspace, workRoots, opensElsewhere, guarded, caller } = files.confinement(policy);
  const mark = { [MARK_VARIABLE]: markText(host.mark({ sandboxPolicy: policy, cwd })) };
  const env = { ...environment, ...(caller ? OWN_TMP : {}), ...mark };
  const launch = () => sandbox.wrap(argv, { policy, workspace, workRoots, opensElsewhere, cwd, env, guarded, caller });
  const result = await runWith(launch, { timeoutMs, signal }).finally(() => files.close());
  if (result.ended === "cancelled") throw signal.reason;
  return {
    exitCode: result.exitCode,
    stdout: result.stdout,
    stderr: withOmission(result),
    ...(result.ended === "timedOut" && { timedOut: true }),
    ...(result.omittedBytes > 0 && { isCut: true }),
  };
}

async function runWith(launch: () => Launch, options: RunOptions): Promise<CommandResult> {
  return await runCommand(launch(), options).result;
}

/** Adds to stderr that the middle of a long output is missing. `runCommand` keeps the beginning and the end. */
function withOmission({ stderr, omittedBytes }: CommandResult): string {
  return omittedBytes === 0 ? stderr : `${stderr}\n(${omittedBytes} bytes in the middle of the output are left out)\n`;
}
