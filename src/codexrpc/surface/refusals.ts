import { CallCancelled, InvalidArguments, ServerBusy, SettingsInvalid } from "../../agent/errors.js";
import { methodNotFound, RPC, RpcError } from "../../jsonrpc/errors.js";
import { AppError, describe } from "../../lib/errors.js";
import { InvalidCursor, NothingToStop, StorageFailed, ThreadBusyElsewhere, ThreadInUse, ThreadNotFound } from "../../threads/errors.js";

/** Errors that the caller can avoid by a different request. */
const CALLERS_OWN: ReadonlySet<string> = new Set([
  "above_ceiling",
  "scope_missing",
  "inside_turn",
  "not_offered",
  "cwd_not_named",
  "cwd_unusable",
  "effort_not_offered",
  "image_refused",
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

/** Methods of other interfaces of Codex that a front end may try, and what serves the purpose here. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  "thread/start": "newConversation",
  "thread/resume": "resumeConversation",
  "thread/list": "listConversations",
  "thread/archive": "archiveConversation",
  "thread/unarchive": "resumeConversation",
  "thread/unsubscribe": "removeConversationListener",
  "thread/fork": "the tool codex-manage",
  "thread/compact/start": "the tool codex-manage",
  "thread/read": "the tool codex-threads",
  "turn/start": "sendUserTurn",
  "turn/steer": "sendUserMessage",
  "turn/interrupt": "interruptConversation",
  "review/start": "the tool codex-review",
  "model/list": "the tool codex-models",
  "account/read": "getAuthStatus",
  "account/login/start": "loginChatGpt or loginApiKey",
  "account/login/cancel": "cancelLoginChatGpt",
  "account/logout": "logoutChatGpt",
  "config/read": "getUserSavedConfig",
  "config/value/write": "setDefaultModel",
  "config/batchWrite": "setDefaultModel",
  "command/exec": "execOneOffCommand",
  forkConversation: "the tool codex-manage",
  getConversationSummary: "listConversations",
};

/** Names what to use instead, for a method that another interface of Codex has. */
export function noSuchMethod(method: string): RpcError {
  const instead = Object.hasOwn(ELSEWHERE, method) ? ELSEWHERE[method] : undefined;
  const isElsewhere = instead !== undefined || method.includes("/") || method === "fuzzyFileSearch";
  if (!isElsewhere) return methodNotFound(method);
  const remedy = instead === undefined ? "Start `codex app-server` for it" : `Use ${instead} here`;
  return new RpcError(RPC.methodNotFound, `method not found: ${method} is served by Codex's app-server only. ${remedy}.`, {
    method,
    ...(instead !== undefined && { instead }),
  });
}

export function notFound(what: "subscription" | "login id", id: string): RpcError {
  return new RpcError(RPC.invalidRequest, `${what} not found: ${id}`);
}
