import { RpcError } from "../../../jsonrpc/errors.js";
import type { Fields } from "../../../lib/fields.js";
import { type ThreadId, threadIdOf } from "../../../lib/ids.js";
import { oneLine } from "../../../lib/oneLine.js";
import { parseThreadId } from "../../../lib/uuid.js";
import { InvalidCursor, ThreadNotFound } from "../../../threads/errors.js";
import type { ThreadCatalog, ThreadPage, ThreadQuery, ThreadSummary } from "../../../threads/store.js";
import type { AppServer } from "../appServer/appServer.js";
import type { AppServers } from "../appServer/appServers.js";
import { CodexRefused, codexRefusal, isHeldElsewhere, threadRefusal } from "../appServer/errors.js";
import { asFields, asList, asNumber, asText, nonEmptyText } from "../appServer/read.js";
import type { ThreadGuards } from "../guard/threadGuard.js";

/** Every thread that a user began; threads that agents began themselves are left out. */
const SOURCES = ["cli", "vscode", "exec", "appServer", "unknown"];
/** The limit of requests for one page of a search. A page with fewer results than requested still has the cursor of the next one. */
const MOST_REQUESTS = 40;
/** Codex starts the fork's MCP servers before it responds. */
const FORK_MS = 60_000;

/** All threads stored in CODEX_HOME, whichever program created them. */
export class CodexCatalog implements ThreadCatalog {
  readonly #servers: AppServers;
  readonly #guards: ThreadGuards;

  constructor(servers: AppServers, guards: ThreadGuards) {
    this.#servers = servers;
    this.#guards = guards;
  }

  async list(query: ThreadQuery): Promise<ThreadPage> {
    return this.#servers.usual().lend(({ server }) => page(server, query));
  }

  async fork(id: ThreadId): Promise<ThreadId> {
    try {
      return await this.#servers
        .usual()
        .lend(async (codex) => fork(codex.server, { threadId: id, ...(await this.#guards.forFork(codex)) }));
    } catch (error) {
      throw threadRefusal(error, id, "fork");
    }
  }

  archive(id: ThreadId): Promise<void> {
    return this.#change(id, { method: "thread/archive", deed: "archive" });
  }

  unarchive(id: ThreadId): Promise<void> {
    return this.#change(id, { method: "thread/unarchive", deed: "unarchive" });
  }

  async rename(id: ThreadId, title: string): Promise<void> {
    try {
      await this.#change(id, { method: "thread/name/set", deed: "rename", params: { name: title } });
    } catch (error) {
      if (error instanceof ThreadNotFound && (await this.#isThere(id)))
        throw new CodexRefused(`Thread ${id} is archived. Unarchive it first.`);
      throw error;
    }
  }

  remove(id: ThreadId): Promise<void> {
    return this.#change(id, { method: "thread/delete", deed: "remove" });
  }

  async #change(id: ThreadId, { method, deed, params }: Change): Promise<void> {
    let held: unknown;
    for (const holder of this.#servers.holders()) {
      try {
        await holder.lend(({ server }) => server.request(method, { threadId: id, ...params }));
        return;
      } catch (error) {
        if (!isHeldElsewhere(error)) throw threadRefusal(error, id, deed);
        held = error;
      }
    }
    throw threadRefusal(held, id, deed);
  }

  /** Archived or not. Only a listed thread can be renamed, and Codex does not say why it refuses others. */
  async #isThere(id: ThreadId): Promise<boolean> {
    try {
      await this.#servers.usual().lend(({ server }) => server.request("thread/read", { threadId: id }));
      return true;
    } catch {
      return false;
    }
  }
}

/** A request to change a thread. */
interface Change {
  readonly method: string;
  /** Completes "Codex did not …". */
  readonly deed: string;
  readonly params?: Fields;
}

/** Codex's search is case-sensitive, so we search ourselves. */
async function page(server: AppServer, query: ThreadQuery): Promise<ThreadPage> {
  const search = query.search?.toLowerCase();
  const isWanted = ({ beginning, summary: { name = "" } }: ListedThread) =>
    search === undefined || beginning.toLowerCase().includes(search) || name.toLowerCase().includes(search);
  const threads: ThreadSummary[] = [];
  let { cursor } = query;
  for (let request = 0; request < MOST_REQUESTS && threads.length < query.limit; request++) {
    const { data, nextCursor } = await listThreads(server, { ...query, cursor, limit: query.limit - threads.length });
    const found = asList(data).flatMap((entry) => listedThread(entry) ?? []);
    threads.push(...found.filter(isWanted).map(({ summary }) => summary));
    cursor = nonEmptyText(nextCursor);
    if (cursor === undefined) return { threads };
  }
  return { threads, ...(cursor === undefined ? {} : { nextCursor: cursor }) };
}

/** Any other order than by `recency_at` loses threads between pages. */
async function listThreads(server: AppServer, { limit, cursor, archived = false, cwd }: ThreadQuery) {
  const order = { sortKey: "recency_at", sortDirection: "desc" };
  const filter = { archived, sourceKinds: SOURCES, modelProviders: [], ...(cwd === undefined ? {} : { cwd }) };
  try {
    return asFields(await server.request("thread/list", { limit, ...order, ...filter, ...(cursor === undefined ? {} : { cursor }) }));
  } catch (error) {
    throw error instanceof RpcError && /invalid cursor/i.test(error.message)
      ? new InvalidCursor()
      : codexRefusal(error, "list its threads");
  }
}

/**
 * The fork is archived and unarchived, because that is the only way to make Codex unload it at once: any process can then open it like any
 * other thread.
 */
async function fork(server: AppServer, source: Fields & { readonly threadId: ThreadId }): Promise<ThreadId> {
  const answer = await server.request("thread/fork", { ...source, excludeTurns: true, sandbox: "read-only" }, { timeoutMs: FORK_MS });
  const threadId = nonEmptyText(asFields(asFields(answer)["thread"])["id"]);
  if (threadId === undefined)
    throw new CodexRefused("Codex forked a thread without returning its id: its version is newer than this server supports.");
  await server.unload(threadId);
  return parseThreadId(threadId);
}

const PREVIEW_LENGTH = 160;

/** A thread in the app-server's list. */
interface ListedThread {
  readonly summary: ThreadSummary;
  /** The user's complete first message. */
  readonly beginning: string;
}

/** Undefined for an invalid entry. */
function listedThread(entry: unknown): ListedThread | undefined {
  const { id, preview, cwd, createdAt, recencyAt, updatedAt, name } = asFields(entry);
  const threadId = nonEmptyText(id);
  if (threadId === undefined) return undefined;
  const beginning = asText(preview);
  const started = asNumber(createdAt) ?? 0;
  const title = nonEmptyText(name);
  return {
    beginning,
    summary: {
      ...(nonEmptyText(asFields(entry)["path"]) === undefined ? {} : { path: asText(asFields(entry)["path"]) }),
      id: threadIdOf(threadId),
      preview: oneLine(beginning, PREVIEW_LENGTH),
      cwd: asText(cwd),
      startedAt: isoTime(started),
      lastUsedAt: isoTime(asNumber(recencyAt) ?? asNumber(updatedAt) ?? started),
      ...(title === undefined ? {} : { name: title }),
    },
  };
}

function isoTime(seconds: number): string {
  return new Date(seconds * 1_000).toISOString();
}
