import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, realpathSync, rm } from "node:fs";
import path from "node:path";
import { isOver, ownIdentity } from "../../../platform/processTable.js";

/**
 * Folders that are /tmp for the threads of callers who share the machine. They lie in our own folder, which no command sees,
 * and are named after the server that made them, so that a later one can remove what a killed one has left.
 */
export class TemporaryFolders {
  #swept = false;

  constructor(private readonly codexHome: string) {}

  make(): string {
    if (!this.#swept) this.#sweep();
    const folder = path.join(this.#parent, `${ownIdentity()}-${randomUUID()}`);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return realpathSync.native(folder);
  }

  /** Does not wait: it may hold as many files as its owner liked to make, and what cannot be removed stays hidden until the next server tries. */
  remove(folder: string): void {
    rm(folder, { recursive: true, force: true, maxRetries: 2 }, () => {});
  }

  get #parent(): string {
    return path.join(this.codexHome, "mcp-server", "tmp");
  }

  #sweep(): void {
    this.#swept = true;
    for (const name of namesIn(this.#parent)) {
      const owner = /^(\d+-\d+-\d+)-[0-9a-f-]{36}$/.exec(name)?.[1];
      if (owner !== undefined && isOver(owner)) this.remove(path.join(this.#parent, name));
    }
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
