import { existsSync, promises } from "node:fs";
import path from "node:path";
import { errorCode } from "../../../lib/errors.js";
import { makeFolder } from "../../../lib/files/makeFolder.js";
import { newThreadId, type ThreadId } from "../../../lib/ids.js";
import { StorageFailed, ThreadBusyElsewhere, ThreadInUse, ThreadNotFound } from "../../../threads/errors.js";
import type { ThreadCatalog, ThreadPage, ThreadQuery } from "../../../threads/store.js";
import { storageFailure } from "../failure.js";
import { newRolloutPath, parseRolloutName } from "./rolloutFile.js";
import { forkedMetaLine, type Origin, parseLine } from "./rolloutLines.js";
import { RolloutList } from "./rolloutList.js";
import { findRollout, isArchivedRollout } from "./rolloutPaths.js";
import { shelfOf } from "./rolloutShelves.js";
import { ShelfIndexer } from "./shelfIndexer.js";
import { ShelfPacks } from "./shelfPacks.js";
import { openRollout, threadLines } from "./threadLines.js";
import { ThreadTitles } from "./threadTitles.js";
import { type WriterLock, WriterLocks } from "./writerLock.js";

/** Even a second file is an accident. */
const MOST_FILES_OF_ONE = 16;

interface CatalogOptions extends Origin {
  readonly codexHome: string;
  /** Overrides the index's limits and clock. */
  readonly index?: { readonly leastIndexed?: number; readonly mostChecked?: number; readonly now?: () => number };
  /** Called when the index of threads cannot be maintained. */
  readonly warn: (line: string) => void;
}

/** The threads of a CODEX_HOME according to their rollouts, whichever program wrote them. */
export class RolloutCatalog implements ThreadCatalog {
  readonly #options: CatalogOptions;
  readonly #locks: WriterLocks;
  readonly #titles: ThreadTitles;
  readonly #packs: ShelfPacks;
  readonly #list: RolloutList;
  readonly #indexer: ShelfIndexer;

  constructor(options: CatalogOptions) {
    this.#options = options;
    this.#locks = new WriterLocks(options.codexHome);
    this.#titles = new ThreadTitles(options.codexHome);
    this.#packs = new ShelfPacks(options.codexHome);
    this.#list = new RolloutList({ ...options, ...options.index, packs: this.#packs, titles: this.#titles });
    this.#indexer = new ShelfIndexer({ ...options, ...options.index, packs: this.#packs });
  }

  async list(query: ThreadQuery): Promise<ThreadPage> {
    const { looked, ...page } = await this.#list.page(query);
    this.#indexer.listed({ looked });
    return page;
  }

  /** Resolves when the index is up to date. Lists trigger an update by themselves after their response. */
  refreshIndex(): Promise<void> {
    return this.#indexer.refresh();
  }

  async fork(id: ThreadId): Promise<ThreadId> {
    const { codexHome } = this.#options;
    const startedAt = new Date();
    const forked = newThreadId();
    const fork = { id: forked, path: newRolloutPath(codexHome, forked, startedAt), startedAt };
    await this.#holding(id, (file) => writeFork({ codexHome, origin: this.#options, source: { id, path: file }, fork }));
    return forked;
  }

  async archive(id: ThreadId): Promise<void> {
    await this.#holding(id, (file) => this.#move(file, ["archived_sessions"]));
  }

  async unarchive(id: ThreadId): Promise<void> {
    await this.#holding(id, async (file) => {
      if (!isArchivedRollout(file, this.#options.codexHome)) return;
      const { day = [] } = parseRolloutName(path.basename(file)) ?? {};
      await this.#move(file, ["sessions", ...day]);
    });
  }

  async rename(id: ThreadId, title: string): Promise<void> {
    if ((await findRollout(this.#options.codexHome, id)) === undefined) throw new ThreadNotFound(id);
    await this.#titles.give(id, title);
  }

  async remove(id: ThreadId): Promise<void> {
    await this.#holding(id, async (first) => {
      // A thread may have been restored beside an archived file of its own: both are removed.
      let file: string | undefined = first;
      for (let files = 0; file !== undefined && files < MOST_FILES_OF_ONE; files++) {
        await removeFile(file);
        this.#packs.remove(shelfOf(file, this.#options.codexHome));
        file = await findRollout(this.#options.codexHome, id);
      }
      await this.#titles.forget(id);
    });
  }

  async titleOf(id: ThreadId): Promise<string | undefined> {
    return (await this.#titles.read()).get(id);
  }

  /** Holds the writer lock, so that no process writes to the thread meanwhile. */
  async #holding(id: ThreadId, work: (file: string) => Promise<void>): Promise<void> {
    const lock = await this.#lock(id);
    try {
      const file = await findRollout(this.#options.codexHome, id);
      if (file === undefined) throw new ThreadNotFound(id);
      await work(file);
    } finally {
      lock.release();
    }
  }

  async #lock(id: ThreadId): Promise<WriterLock> {
    try {
      return await this.#locks.acquire(id);
    } catch (error) {
      if (error instanceof ThreadBusyElsewhere && error.holder === `process ${process.pid}`) throw new ThreadInUse(id);
      throw error;
    }
  }

  async #move(file: string, folders: readonly string[]): Promise<void> {
    const target = path.join(this.#options.codexHome, ...folders, path.basename(file));
    if (target === file) return;
    if (existsSync(target)) throw new StorageFailed(`${target} is there already. Move one of the two files of this thread away.`);
    try {
      await makeFolder(path.dirname(target));
      await promises.rename(file, target);
    } catch (error) {
      throw storageFailure("move the thread's file to", target, error);
    }
  }
}

async function removeFile(file: string): Promise<void> {
  try {
    await promises.unlink(file);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw storageFailure("remove the thread's file", file, error);
  }
}

interface ForkParts {
  readonly codexHome: string;
  readonly origin: Origin;
  readonly source: { readonly id: ThreadId; readonly path: string };
  readonly fork: { readonly id: ThreadId; readonly path: string; readonly startedAt: Date };
}

/** Writes a rollout with the source's whole content under a new id. The write is atomic. */
async function writeFork(parts: ForkParts): Promise<void> {
  const { path: target } = parts.fork;
  const draft = `${target}.new`;
  try {
    await makeFolder(path.dirname(target));
    await using source = await openRollout(parts.source.path);
    await using file = await promises.open(draft, "wx", 0o600);
    for await (const line of forkedLines(threadLines(source, parts.codexHome), parts)) await file.appendFile(line);
    await file.datasync();
    await promises.rename(draft, target);
  } catch (error) {
    await promises.rm(draft, { force: true }).catch(() => undefined);
    throw storageFailure("write the fork", target, error);
  }
}

async function* forkedLines(lines: AsyncIterable<Buffer>, { source, fork, origin }: ForkParts): AsyncGenerator<Buffer> {
  let begun = false;
  for await (const line of lines) {
    if (!begun) yield Buffer.from(forkedMetaLine(metaIn(line, source), { ...fork, origin }));
    begun = true;
    yield Buffer.concat([line, NEWLINE]);
  }
  if (!begun) throw unusable(source.path);
}

const NEWLINE = Buffer.from("\n");

function metaIn(line: Buffer, { id, path: file }: ForkParts["source"]): Readonly<Record<string, unknown>> {
  const { type, payload } = parseLine(line) ?? {};
  if (type !== "session_meta" || payload?.["id"] !== id) throw unusable(file);
  return payload;
}

function unusable(file: string): StorageFailed {
  return new StorageFailed(`The file ${file} does not begin with the session_meta of its thread. Restore it, or start a new thread.`);
}
