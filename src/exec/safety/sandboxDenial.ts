import type { ApprovalPolicy } from "../policies.js";

export interface FinishedCommand {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly aggregated: string;
}

const DENIAL_WORDS = /operation not permitted|permission denied|read-only file system|seccomp|sandbox|landlock|failed to write file/i;

/** Misuse, not executable, not found: failures of the command's own. */
const OWN_FAILURES = new Set([2, 126, 127]);

const SIGSYS_EXIT = 128 + 31;

/** The reason given when somebody is asked to let a stopped command run again outside the sandbox. */
export const RETRY_REASON = "command failed; retry without sandbox?";

/** Whether a command that ran in the sandbox seems to have failed because of it. A guess by its words, as nothing better is known. */
export function isSandboxDenial(
  { exitCode, stdout, stderr, aggregated }: FinishedCommand,
  platform: NodeJS.Platform = process.platform,
): boolean {
  if (exitCode === 0) return false;
  if ([stderr, stdout, aggregated].some((text) => DENIAL_WORDS.test(text))) return true;
  return !OWN_FAILURES.has(exitCode) && platform === "linux" && exitCode === SIGSYS_EXIT;
}

/** After a denial: ask for a run outside the sandbox, or report the failure to the model. */
export function retryAfterDenial(policy: ApprovalPolicy): "ask" | "report" {
  return policy === "on-failure" || policy === "untrusted" ? "ask" : "report";
}
