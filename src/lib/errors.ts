/** An expected error: `code` is for programs, `message` for people. Subclasses live with the part that throws them. */
export abstract class AppError extends Error {
  abstract readonly code: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }

  /** A hint for the user, for errors whose message must keep its recorded wording. */
  get advice(): string | undefined {
    return undefined;
  }
}

/** The command line is invalid, or asks for something that is not possible. The program exits and prints its usage. */
export class UsageError extends AppError {
  readonly code = "usage";
}

/** One readable line, whatever was thrown. */
export function describe(error: unknown): string {
  if (error instanceof Error) return error.message || error.name;
  return typeof error === "string" ? error : (JSON.stringify(error) ?? String(error));
}

/** The system's code for a failure (`ENOENT`, `ECONNREFUSED`), if it has one. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
