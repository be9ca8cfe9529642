/** An error we foresaw: `code` is for programs, `message` for people. Subclasses live with the part that throws them. */
export abstract class AppError extends Error {
  abstract readonly code: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }

  /** What helps, where the message is worded as somebody else's and stays as it is. */
  get advice(): string | undefined {
    return undefined;
  }
}

/** The command line was not understood, or asks for something that cannot be had. The program ends with its usage. */
export class UsageError extends AppError {
  readonly code = "usage";
}

/** One line a person can read, whatever was thrown. */
export function describe(error: unknown): string {
  if (error instanceof Error) return error.message || error.name;
  return typeof error === "string" ? error : (JSON.stringify(error) ?? String(error));
}

/** The system's name of a failure (`ENOENT`, `ECONNREFUSED`), if it has one. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}
