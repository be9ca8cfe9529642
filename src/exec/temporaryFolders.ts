import { randomUUID } from "node:crypto";
import { realpathSync, rm } from "node:fs";
import path from "node:path";
import { makeFolderSync } from "../lib/files/makeFolder.js";
import { namesIn } from "../platform/paths.js";
import { claimName, isAbandoned, keepFresh, parseClaim } from "../platform/processes.js";

/** The folders contain users' files: a server in another container that is suspended for a while must find them again. */
const LAPSES_AFTER_MS = 24 * 3_600_000;

/**
 * The /tmp folders for threads of callers who share the machine, and those in which the sandbox is tested. They lie in our own folder,
 * which no command sees, and their names contain the server that created them, so that a later server can remove what a killed one left.
 */
export class TemporaryFolders {
  #swept = false;
  readonly #kept = new Map<string, () => void>();
  readonly #parent: string;

  constructor(codexHome: string) {
    this.#parent = path.join(codexHome, "mcp-server", "tmp");
  }

  make(): string {
    if (!this.#swept) this.#sweep();
    const folder = path.join(this.#parent, claimName("tmp", randomUUID()));
    makeFolderSync(folder);
    const real = realpathSync.native(folder);
    this.#kept.set(real, keepFresh(real));
    return real;
  }

  /** Does not wait: the folder may contain any number of files. What cannot be removed stays hidden until the next server tries. */
  remove(folder: string): void {
    this.#kept.get(folder)?.();
    this.#kept.delete(folder);
    rm(folder, { recursive: true, force: true, maxRetries: 2 }, () => {});
  }

  #sweep(): void {
    this.#swept = true;
    for (const name of namesIn(this.#parent)) {
      const owner = parseClaim(name);
      if (owner && isAbandoned(owner, this.#parent, LAPSES_AFTER_MS)) this.remove(path.join(this.#parent, name));
    }
  }
}
