import { RpcError } from "../../jsonrpc/errors.js";
import { type Fields, isFields, textOrNothing } from "../../lib/fields.js";
import type { ThreadId } from "../../lib/ids.js";
import { parseThreadId } from "../../lib/uuid.js";
import type { KeptThread } from "../../threads/engine.js";
import type { ThreadSettings } from "../../threads/settings.js";
import type { ThreadRecord, WriterLease } from "../../threads/store.js";
import { CodexNotLoggedIn, CodexRefused, codexRefusal, threadRefusal } from "./appServer/errors.js";
import { asFields, asList } from "./appServer/read.js";
import type { RunningCodex } from "./appServer/supervisor.js";
import type { ThreadGuard } from "./guard/threadGuard.js";
import { settledModel } from "./services/models.js";
import { threadResumeParams, threadStartParams } from "./translate/settings.js";

/** Codex starts the thread's MCP servers before it answers. */
const LOAD_MS = 60_000;

/** A new thread. Throws `CodexNotLoggedIn`, `EffortNotOffered` or `CodexRefused`. */
export async function startThread(codex: RunningCodex, asked: ThreadSettings, guard: ThreadGuard): Promise<KeptThread> {
  const { server, isExperimental } = codex;
  await requireLogin(server, asked);
  const settings = await settledModel(codex, asked);
  const params = threadStartParams(settings, { rawEvents: isExperimental, guard });
  try {
    return keptThread(await server.request("thread/start", params, { timeoutMs: LOAD_MS }), settings);
  } catch (error) {
    throw codexRefusal(error, "start a thread");
  }
}

interface ThreadToResume {
  readonly settings: ThreadSettings;
  readonly guard: ThreadGuard;
  /** Nothing of the previous load may remain. */
  readonly isAnew?: boolean;
}

/** Loads an existing thread. Throws `ThreadNotFound`, `ThreadBusyElsewhere`, `CodexNotLoggedIn` or `CodexRefused`. */
export async function resumeThread(
  codex: RunningCodex,
  id: ThreadId,
  { settings: asked, guard, isAnew = false }: ThreadToResume,
): Promise<KeptThread> {
  const { server } = codex;
  await requireLogin(server, asked);
  const settings = asked.modelIsReplaceable ? await settledModel(codex, asked) : asked;
  const params = threadResumeParams(id, settings, guard);
  try {
    if (guard.profiles || isAnew) await unloadIfLoaded(server, id);
    return keptThread(await server.request("thread/resume", params, { timeoutMs: LOAD_MS }), settings);
  } catch (error) {
    throw threadRefusal(error, id, "resume");
  }
}

/** A loaded thread keeps the rules it was loaded with, which may have been made for another caller. */
async function unloadIfLoaded(server: RunningCodex["server"], threadId: ThreadId): Promise<void> {
  const { data } = asFields(await server.request("thread/loaded/list", {}));
  if (asList(data).includes(threadId)) await server.unload(threadId);
}

async function requireLogin(server: RunningCodex["server"], { provider }: ThreadSettings): Promise<void> {
  if (!provider.requiresOpenaiAuth) return;
  const answer = await server.request("account/read", {}).catch((error: unknown) => {
    // A Codex that does not report its login is assumed to be logged in: the turn will show.
    if (!(error instanceof RpcError)) throw error;
  });
  if (isFields(answer) && answer["requiresOpenaiAuth"] === true && answer["account"] === null)
    throw new CodexNotLoggedIn(
      "Codex is not logged in: run `codex login` on the machine of this server, or use --engine native with an API key.",
    );
}

function keptThread(answer: unknown, settings: ThreadSettings): KeptThread {
  const { thread, ...effective } = isFields(answer) ? answer : {};
  const { id, path } = isFields(thread) ? thread : {};
  if (typeof id !== "string")
    throw new CodexRefused("Codex opened a thread without returning its id: its version is newer than this server supports.");
  return { id: parseThreadId(id), settings: inForce(settings, effective), record: recordOfCodex(textOrNothing(path) ?? "") };
}

const SANDBOX_WORDS = { readOnly: "read-only", workspaceWrite: "workspace-write", dangerFullAccess: "danger-full-access" } as const;

/**
 * The settings with what Codex filled in. A newly loaded thread has no rights; one that was already loaded has those of its last turn. Any
 * other sandbox is rejected.
 */
function inForce(settings: ThreadSettings, { model, modelProvider, sandbox }: Fields): ThreadSettings {
  const { type } = isFields(sandbox) ? sandbox : {};
  const given = Object.entries(SANDBOX_WORDS).find(([word]) => word === type)?.[1];
  const asked = settings.sandboxPolicy.type;
  if (given !== undefined && given !== "read-only" && given !== asked)
    throw new CodexRefused(
      `Codex would run this thread with the sandbox ${given} instead of ${asked}: its configuration does not allow the one asked for.`,
    );
  return {
    ...settings,
    model: textOrNothing(model) ?? settings.model,
    provider: { ...settings.provider, id: textOrNothing(modelProvider) ?? settings.provider.id },
  };
}

/** Codex writes the thread's record itself, and locks it while the thread is open. */
function recordOfCodex(path: string): ThreadRecord {
  return { path, lease: async () => LEASE_OF_CODEX };
}

const LEASE_OF_CODEX: WriterLease = { changedElsewhere: false, append: () => {}, sync: async () => {}, release: () => {} };
