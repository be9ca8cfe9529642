import { AppError } from "../../../lib/errors.js";

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
