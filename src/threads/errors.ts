import { AppError } from "../lib/errors.js";
import type { ThreadId } from "../lib/ids.js";

export class ThreadNotFound extends AppError {
  readonly code = "thread_not_found";
  constructor(readonly threadId: ThreadId) {
    super(`Session not found for thread_id: ${threadId}`);
  }
}

/** Another process is running a turn on this thread. */
export class ThreadBusyElsewhere extends AppError {
  readonly code = "thread_busy_elsewhere";
  constructor(
    readonly threadId: ThreadId,
    readonly holder: string,
  ) {
    super(
      `Thread ${threadId} is in use by another process (${holder}). Wait until its turn has ended, or end that process, then send the reply again.`,
    );
  }
}

export class TooManyQueuedTurns extends AppError {
  readonly code = "too_many_queued_turns";
  constructor(threadId: ThreadId, limit: number) {
    super(`Thread ${threadId} already has ${limit} replies waiting. Wait for an answer before sending more.`);
  }
}

/** The thread's file could not be written or read. */
export class StorageFailed extends AppError {
  readonly code = "storage_failed";
}
