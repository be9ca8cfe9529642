import { AppError } from "../../lib/errors.js";

/** No Codex was found where one was looked for. */
export class CodexMissing extends AppError {
  readonly code = "codex_missing";
}

/** A Codex was found, and it cannot be worked with: no program, another platform, too old, no sensible answer at the start. */
export class CodexUnusable extends AppError {
  readonly code = "codex_unusable";
}

/** Codex works, but nobody is logged in to the provider it would use. */
export class CodexNotLoggedIn extends AppError {
  readonly code = "codex_not_logged_in";
}

/** The process ended, or was ended, while something waited for it. */
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
