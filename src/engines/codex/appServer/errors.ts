import { RpcError } from "../../../jsonrpc/errors.js";
import { AppError } from "../../../lib/errors.js";
import type { ThreadId } from "../../../lib/ids.js";
import { ThreadBusyElsewhere, ThreadNotFound } from "../../../threads/errors.js";

/** No Codex was found. */
export class CodexMissing extends AppError {
  readonly code = "codex_missing";
}

/** A Codex was found but cannot be used: not a program, another platform, too old, or no valid response at the start. */
export class CodexUnusable extends AppError {
  readonly code = "codex_unusable";
}

/** Codex works, but is not logged in to the provider it would use. */
export class CodexNotLoggedIn extends AppError {
  readonly code = "codex_not_logged_in";
}

/** The process ended, or was ended, while a request was pending. */
export class AppServerGone extends AppError {
  readonly code = "app_server_gone";
}

/** A request was not answered in time. */
export class AppServerSilent extends AppError {
  readonly code = "app_server_silent";
}

/** Codex answered a request with an error. */
export class CodexRefused extends AppError {
  readonly code = "codex_refused";
}

/** Why no thread could be opened; if the process is gone, with the next step: nothing was begun that could be continued. */
export function whyNotOpened(error: unknown): unknown {
  if (!(error instanceof AppServerGone)) return error;
  return new AppServerGone(`${error.message} No turn was begun: repeat the call, for which Codex is started again.`, { cause: error });
}

/** The line that names the cause where Node ends a program, as Codex's launcher; the place in the code and the stack surround it. */
export const UNCAUGHT_ERROR = /^\w*Error(?: \[\w+\])?: .+/m;

/** config.toml has a value that Codex does not accept; other unknown values are those of a request. */
const MISCONFIGURED = /(failed to load|invalid) configuration/i;

/** Turns Codex's error response into a helpful error; any other error is returned unchanged. `deed` completes "Codex did not …". */
export function codexRefusal(error: unknown, deed: string, remedy?: string): unknown {
  if (!(error instanceof RpcError)) return error;
  const isMisconfigured = MISCONFIGURED.test(error.message);
  if (!isMisconfigured && /unknown variant/i.test(error.message))
    return new CodexRefused(`This Codex cannot ${deed}. Update it (npm install -g @openai/codex).`, { cause: error });
  const complaint = `Codex did not ${deed}: ${error.message}`;
  const step = isMisconfigured ? "Correct that, or use --engine native." : remedy;
  return new CodexRefused(step === undefined ? complaint : `${complaint.trimEnd().replace(/\.$/, "")}. ${step}`, { cause: error });
}

/** The same for one thread. Codex uses one code for nearly every refusal; only the messages differ. */
export function threadRefusal(error: unknown, id: ThreadId, deed: string): unknown {
  if (!(error instanceof RpcError)) return error;
  if (/no (archived )?rollout found|thread not found/i.test(error.message)) return new ThreadNotFound(id);
  if (isHeldElsewhere(error)) return new ThreadBusyElsewhere(id, "a Codex");
  if (/\bis archived\b/i.test(error.message)) return new CodexRefused(`Thread ${id} is archived. Unarchive it first.`, { cause: error });
  return codexRefusal(error, `${deed} thread ${id}`);
}

/** Another process has the thread open. */
export function isHeldElsewhere(error: unknown): boolean {
  return error instanceof RpcError && /active writer/i.test(error.message);
}
