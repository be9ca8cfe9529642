import { CallCancelled, InvalidArguments, ServerBusy, SettingsInvalid } from "../../agent/errors.js";
import { RPC, RpcError } from "../../jsonrpc/errors.js";
import { AppError, describe } from "../../lib/errors.js";
import { InvalidCursor, NothingToStop, StorageFailed, ThreadBusyElsewhere, ThreadInUse, ThreadNotFound } from "../../threads/errors.js";

/** Whatever the caller could have known, or can mend by asking for something else. */
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
 * What was foreseen to go wrong, in the words of September 2025 where those had some: `-32600` for what the client asked, `-32603` for what failed
 * here. `data.code` is for programs, the same as in results of tools. What nobody foresaw stays what it is.
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

/** For what the surface words in its own way: `failing("error creating conversation", …)`. What is the caller's own keeps its words. */
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
