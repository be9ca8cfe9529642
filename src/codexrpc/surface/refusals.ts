import { CallCancelled, InvalidArguments, ServerBusy, SettingsInvalid } from "../../agent/errors.js";
import { RPC, RpcError } from "../../jsonrpc/errors.js";
import { AppError, describe } from "../../lib/errors.js";
import { InvalidCursor, NothingToStop, StorageFailed, ThreadBusyElsewhere, ThreadInUse, ThreadNotFound } from "../../threads/errors.js";

/** Errors that the caller can avoid by a different request. */
const CALLERS_OWN: ReadonlySet<string> = new Set([
  "above_ceiling",
  "scope_missing",
  "inside_turn",
  "not_offered",
  "folder_not_named",
  "picture_refused",
  "record_refused",
]);

/**
 * Converts an expected error, in the wording of September 2025 where one exists: `-32600` for an invalid request, `-32603` for a failure of
 * the server. `data.code` is for programs, the same as in tool results. Unexpected errors are returned unchanged.
 */
export function asRefusal(error: unknown): unknown {
  if (!(error instanceof AppError)) return error;
  const { code } = error;
  const refuse = (rpcCode: number, message: string) => new RpcError(rpcCode, message, { code });
  if (error instanceof ThreadNotFound) return refuse(RPC.invalidRequest, `conversation not found: ${error.threadId}`);
  if (error instanceof SettingsInvalid) return refuse(RPC.invalidRequest, withAdvice(`error deriving config: ${error.message}`, error));
  if (error instanceof ServerBusy) return refuse(RPC.busy, error.message);
  if (error instanceof InvalidArguments) return refuse(RPC.invalidParams, error.message);
  const isTheirs =
    CALLERS_OWN.has(code) ||
    error instanceof InvalidCursor ||
    error instanceof ThreadInUse ||
    error instanceof ThreadBusyElsewhere ||
    error instanceof NothingToStop ||
    error instanceof CallCancelled;
  return refuse(isTheirs ? RPC.invalidRequest : RPC.internalError, withAdvice(error.message, error));
}

function withAdvice(message: string, { advice }: AppError): string {
  return advice === undefined ? message : `${message} ${advice}`;
}

/** Adds the surface's own prefix to a failure: `failing("error creating conversation", …)`. The caller's own errors stay unchanged. */
export async function failing<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const refusal = asRefusal(error);
    if (refusal instanceof RpcError && refusal.code === RPC.internalError)
      throw new RpcError(RPC.internalError, `${what}: ${refusal.message}`, refusal.extra);
    if (error instanceof StorageFailed) throw new RpcError(RPC.internalError, `${what}: ${describe(error)}`, { code: error.code });
    throw refusal;
  }
}

export function notFound(what: "subscription" | "login id", id: string): RpcError {
  return new RpcError(RPC.invalidRequest, `${what} not found: ${id}`);
}
