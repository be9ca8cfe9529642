import { promises } from "node:fs";
import path from "node:path";
import { errorCode } from "../../lib/errors.js";
import { isFields } from "../../lib/fields.js";
import type { ThreadId } from "../../lib/ids.js";
import { StorageFailed } from "../../threads/errors.js";
import type { ThreadOwners } from "../../threads/store.js";
import { storageFailure } from "./failure.js";
import { writeWholeFile } from "./wholeFile.js";

/** More than the longest token subject takes. */
const LARGEST_FILE_BYTES = 8_192;

/** The owners of threads, as one small file for each thread that has one. */
export class OwnerFiles implements ThreadOwners {
  readonly #folder: string;

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

  #fileOf(id: ThreadId): string {
    return path.join(this.#folder, `${id}.json`);
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
