import { AppError } from "../lib/errors.js";
import type { ThreadId } from "../lib/ids.js";

/** The caller asked for more than the operator allows. The message names the setting that raises the limit. */
export class AboveCeiling extends AppError {
  readonly code = "above_ceiling";
}

/** The caller is authenticated but lacks the scope. */
export class ScopeMissing extends AppError {
  readonly code = "scope_missing";

  constructor(scope: string) {
    super(
      `Over the network this needs the scope \`${scope}\`: use a token that has it (a word on its line of --token-file), or a client on stdio.`,
    );
  }
}

/** A caller inside a turn asked for a turn, a command or another caller's data. */
export class InsideTurn extends AppError {
  readonly code = "inside_turn";
}

/** The engine has no services besides turns. */
export class NotOffered extends AppError {
  readonly code = "not_offered";

  constructor(engineName: string) {
    super(`The engine ${engineName} cannot do this. Start the server with another --engine.`);
  }
}

export class TookTooLong extends AppError {
  readonly code = "took_too_long";

  constructor(ms: number) {
    super(`There was no answer within ${ms / 1_000} seconds. Try again, or check the server's log.`);
  }
}

/** Too many requests are running or queued. */
export class ServerBusy extends AppError {
  readonly code = "server_busy";
}

/** The caller cancelled the request or disconnected. */
export class CallCancelled extends AppError {
  readonly code = "call_cancelled";

  constructor(message = "The call was cancelled before its turn began.") {
    super(message);
  }
}

/** The arguments of a call are invalid. */
export class InvalidArguments extends AppError {
  readonly code = "invalid_arguments";
}

/** What was given does not answer this question, which stays open. `advice` says how to answer it. */
export class InvalidAnswer extends InvalidArguments {
  readonly #advice: string;

  constructor(complaint: string, advice: string) {
    super(complaint);
    this.#advice = advice;
  }

  override get advice(): string {
    return this.#advice;
  }
}

/** The requested settings are invalid. The message comes from the configuration. */
export class SettingsInvalid extends AppError {
  readonly code = "settings_invalid";
  readonly #advice: string | undefined;

  constructor(cause: AppError) {
    super(cause.message, { cause });
    this.#advice = cause.advice;
  }

  override get advice(): string | undefined {
    return this.#advice;
  }
}

/** The abort reason of a call whose client stopped waiting on its own timeout. The client did not cancel the turn. */
export class CallerTimedOut extends Error {}

/** The abort reason of a call whose client disconnected and did not come back. */
export class CallerVanished extends Error {}

interface Settlement {
  readonly threadId: ThreadId;
  readonly text: string;
}

/** The question is not open: it was answered, its turn has ended, or it does not exist. */
export class QuestionSettled extends AppError {
  readonly code = "question_settled";

  readonly #threadId: ThreadId | undefined;

  /** `open`: the open questions of the same caller, one line each. `how`: how this one was settled, if that is still known. */
  constructor(id: string, { open, how }: { readonly open: readonly string[]; readonly how: Settlement | undefined }) {
    const waiting = open.length === 0 ? "Nothing waits for an answer now." : `Open questions: ${open.join("; ")}.`;
    super(
      `No question ${id.slice(0, 64)} is open: ${how?.text ?? "it was answered, or its turn has ended, or it never existed"}. ${waiting}`,
    );
    this.#threadId = how?.threadId;
  }

  override get advice(): string {
    return this.#threadId === undefined
      ? "`codex-threads` shows the open questions of each thread."
      : `\`codex-wait\` with threadId ${this.#threadId} returns what came of it.`;
  }
}
