import { AppError } from "../lib/errors.js";

/** A caller asked for more than whoever runs the server lets callers have. The message names the setting that raises the ceiling. */
export class AboveCeiling extends AppError {
  readonly code = "above_ceiling";
}

/** The caller is known, but was not given leave to do this. */
export class ScopeMissing extends AppError {
  readonly code = "scope_missing";

  constructor(scope: string) {
    super(
      `Over the network this needs the scope \`${scope}\`: use a token that has it (a word on its line of --token-file), or a client on stdio.`,
    );
  }
}

/** A turn has asked for a turn, a command or something that is somebody's. */
export class InsideTurn extends AppError {
  readonly code = "inside_turn";
}

/** The engine runs turns and nothing else. */
export class NotOffered extends AppError {
  readonly code = "not_offered";

  constructor(engineName: string) {
    super(`The engine ${engineName} cannot do this. Start the server with another --engine.`);
  }
}

export class TookTooLong extends AppError {
  readonly code = "took_too_long";

  constructor(ms: number) {
    super(`There was no answer within ${ms / 1_000} seconds. Try again, or look into the server's log.`);
  }
}

/** Too many callers want the same at once. */
export class ServerBusy extends AppError {
  readonly code = "server_busy";
}

/** The call that wanted something has gone. */
export class CallCancelled extends AppError {
  readonly code = "call_cancelled";

  constructor(message = "The call was cancelled before its turn began.") {
    super(message);
  }
}

/** What a call says cannot be understood. */
export class InvalidArguments extends AppError {
  readonly code = "invalid_arguments";
}

/** The settings that a call asks for cannot be had; the message is the configuration's own. */
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

/** Why a call ends whose client stopped waiting by itself. It did not say that it wants the turn no longer. */
export class CallerTimedOut extends Error {}

/** Why a call ends whose client went away in the middle of it and did not come back. */
export class CallerVanished extends Error {}

/** Nobody waits for this answer: the question is decided, or its turn is over, or nobody asked it. */
export class QuestionSettled extends AppError {
  readonly code = "question_settled";

  /** @param open What waits for an answer of the same caller, a line each. */
  constructor(id: string, open: readonly string[]) {
    const waiting = open.length === 0 ? "Nothing waits for an answer now." : `Open are: ${open.join("; ")}.`;
    super(`No question ${id.slice(0, 64)} is open: it was answered, or its turn has ended. ${waiting}`);
  }
}
