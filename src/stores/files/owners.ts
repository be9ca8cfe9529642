import { promises } from "node:fs";
import path from "node:path";
import { errorCode } from "../../lib/errors.js";
import { isFields } from "../../lib/fields.js";
import { type ThreadId, threadIdOf } from "../../lib/ids.js";
import { StorageFailed } from "../../threads/errors.js";
import type { ThreadOwners } from "../../threads/store.js";
import { storageFailure } from "./failure.js";
import { type FileStamp, isSameStamp, isSettled, stampOf, statsOf } from "./fileStamp.js";
import { writeWholeFile } from "./wholeFile.js";

/** More than the longest token subject takes. */
const LARGEST_FILE_BYTES = 8_192;

const SUFFIX = ".json";

/** The owners of threads, as one small file for each thread that has one. */
export class OwnerFiles implements ThreadOwners {
  readonly #folder: string;
  #known: { readonly stamp: FileStamp; readonly ids: ReadonlySet<ThreadId> } | undefined;

  constructor(codexHome: string) {
    this.#folder = path.join(codexHome, "mcp-server", "owners");
  }

  async keep(id: ThreadId, owner: string): Promise<void> {
    const file = this.#fileOf(id);
    try {
      await writeWholeFile(file, `${JSON.stringify({ principal: owner })}\n`);
    } catch (error) {
      throw storageFailure("note the thread's owner in", file, error);
    }
  }

  async ownerOf(id: ThreadId): Promise<string | undefined> {
    const file = this.#fileOf(id);
    try {
      await using handle = await promises.open(file, "r");
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(LARGEST_FILE_BYTES), 0, LARGEST_FILE_BYTES, 0);
      return principalIn(buffer.toString("utf8", 0, bytesRead), file);
    } catch (error) {
      if (errorCode(error) === "ENOENT") return undefined;
      throw storageFailure("read the thread's owner from", file, error);
    }
  }

  /** Read again only when the folder has changed. */
  async owned(): Promise<ReadonlySet<ThreadId>> {
    const stats = statsOf(this.#folder);
    if (!stats) return new Set();
    const stamp = stampOf(stats);
    if (this.#known && isSameStamp(this.#known.stamp, stamp)) return this.#known.ids;
    try {
      const names = await promises.readdir(this.#folder);
      const ids = new Set(names.flatMap((name) => (name.endsWith(SUFFIX) ? [threadIdOf(name.slice(0, -SUFFIX.length))] : [])));
      this.#known = isSettled(stamp, Date.now()) ? { stamp, ids } : undefined;
      return ids;
    } catch (error) {
      throw storageFailure("list the threads' owners in", this.#folder, error);
    }
  }

  #fileOf(id: ThreadId): string {
    return path.join(this.#folder, `${id}${SUFFIX}`);
  }
}

function principalIn(text: string, file: string): string {
  const { principal } = fieldsIn(text);
  if (typeof principal === "string") return principal;
  throw new StorageFailed(`${file} does not name the thread's owner. Restore it, or remove it to give up the thread's owner.`);
}

function fieldsIn(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : {};
  } catch {
    return {};
  }
}
