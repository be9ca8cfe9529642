import { AppError } from "../lib/errors.js";
import type { ThreadId } from "../lib/ids.js";

export class ThreadNotFound extends AppError {
  readonly code = "thread_not_found";
  constructor(readonly threadId: ThreadId) {
    super(`Session not found for thread_id: ${threadId}`);
  }
}

/** Another process, or another call in this one, is running a turn on this thread. */
export class ThreadBusyElsewhere extends AppError {
  readonly code = "thread_busy_elsewhere";
  constructor(
    readonly threadId: ThreadId,
    readonly holder: string,
  ) {
    // No number of the own process: a user could end the server they are connected to.
    super(
      holder === `process ${process.pid}`
        ? `Thread ${threadId} is in use by another call of this server. Wait until that has ended, then send this one again.`
        : `Thread ${threadId} is in use by another process (${holder}). Wait until its turn has ended, then call again.`,
    );
  }
}

export class TooManyQueuedTurns extends AppError {
  readonly code = "too_many_queued_turns";
  constructor(
    readonly threadId: ThreadId,
    limit: number,
  ) {
    super(`Thread ${threadId} already has ${limit} replies waiting. Wait for an answer before sending more.`);
  }
}

export class NothingToSteer extends AppError {
  readonly code = "nothing_to_steer";
  constructor(threadId: ThreadId) {
    super(`No turn of thread ${threadId} takes more instructions now. Send them as a reply instead.`);
  }
}

export class NothingToStop extends AppError {
  readonly code = "nothing_to_stop";
  constructor(threadId: ThreadId) {
    super(`No turn runs on thread ${threadId}. Read the result of its last turn, or send a reply.`);
  }
}

export class ThreadInUse extends AppError {
  readonly code = "thread_in_use";
  constructor(threadId: ThreadId) {
    super(`A turn runs or waits on thread ${threadId}. Wait for its answer or cancel it, then ask again.`);
  }
}

export class InvalidCursor extends AppError {
  readonly code = "invalid_cursor";
  constructor() {
    super("The cursor is not valid for this list. Request the first page without a cursor.");
  }
}

/** The thread's file could not be written or read. */
export class StorageFailed extends AppError {
  readonly code = "storage_failed";
}

/** Efforts are free-form words; each model accepts its own. */
export class EffortNotOffered extends AppError {
  readonly code = "effort_not_offered";
  constructor(effort: string, { model, offered }: { readonly model: string; readonly offered: readonly string[] }) {
    super(
      `Model \`${model}\` does not offer the effort \`${effort}\`. Set model_reasoning_effort to one of ${offered.join(", ")}, or leave it out for the model's own.`,
    );
  }
}
