import { randomBytes } from "node:crypto";
import { linkSync, readdirSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { errorCode } from "../../../lib/errors.js";
import type { ThreadId } from "../../../lib/ids.js";
import {
  type ClaimFile,
  claimName,
  isAbandoned,
  keepFresh,
  makeClaim,
  parseClaim,
  refreshClaim,
  withdrawClaim,
} from "../../../platform/processes.js";
import { ThreadBusyElsewhere } from "../../../threads/errors.js";
import { storageFailure } from "../failure.js";

export interface WriterLock {
  release(): void;
}

/** A simultaneous contender withdraws within this time; a writer does not. */
const CONTENTION_STEP_MS = 5;
const CONTENTION_LOOKS = 12;

/** A link has the modification time of its file. Other machines count a claim with an old time as abandoned, so the file is refreshed. */
const REFRESH_AFTER_MS = 30_000;
/** The files that claims of this process are links to. */
const linkedFiles = new Set<string>();

/**
 * One writer per thread across processes, without native code. Each contender first creates a claim file, then checks for other claims on
 * that thread. Because the claim comes first, at least one of two contenders sees the other, so there are never two writers; if both see
 * each other, the first by name stays.
 */
export class WriterLocks {
  readonly #folder: string;
  /** Two stores in one process must exclude each other too. */
  readonly #suffix = randomBytes(4).toString("hex");
  #clearedUp = false;
  /** Undefined before the first claim; "none" where the file system has no links. */
  #linked: { readonly file: string; readonly freshUntilMs: number } | "none" | undefined;

  constructor(codexHome: string) {
    this.#folder = path.join(codexHome, "mcp-server", "locks");
  }

  /** Throws `ThreadBusyElsewhere` when the thread has a writer, `StorageFailed` when no claim can be created. */
  async acquire(threadId: ThreadId): Promise<WriterLock> {
    const name = claimName(threadId, this.#suffix);
    const file = path.join(this.#folder, name);
    this.#claim(threadId, file);
    try {
      const rival = await this.#rivalThatStays(threadId, name);
      if (rival) throw new ThreadBusyElsewhere(threadId, `process ${rival.pid}`);
    } catch (error) {
      withdrawClaim(file);
      throw storageFailure("look for other writers in", this.#folder, error);
    }
    return held(file);
  }

  /** Throws `ThreadBusyElsewhere` while another writer has the thread. A simultaneous contender may count as a writer. */
  checkFree(threadId: ThreadId): void {
    const rival = this.#rivals(threadId, claimName(threadId, this.#suffix))[0];
    if (rival) throw new ThreadBusyElsewhere(threadId, `process ${rival.pid}`);
  }

  #claim(threadId: ThreadId, file: string): void {
    try {
      if (this.#makeClaim(file)) return;
    } catch (error) {
      throw storageFailure("lock the thread with", file, error);
    }
    throw new ThreadBusyElsewhere(threadId, `process ${process.pid}`);
  }

  /** Creating and removing a file can take twenty times as long as creating and removing a link. */
  #makeClaim(file: string): boolean {
    const linked = this.#linkedFile();
    if (linked === "none") return makeClaim(file);
    try {
      linkSync(linked, file);
      return true;
    } catch (error) {
      if (errorCode(error) === "EEXIST") return false;
      // Someone may have removed the file.
      this.#linked = errorCode(error) === "ENOENT" ? undefined : "none";
      return makeClaim(file);
    }
  }

  /** The file that claims are links to. It is named like a claim, so that another process removes it once this one is gone. It claims no thread. */
  #linkedFile(): string {
    const known = this.#linked;
    if (known === "none") return known;
    if (known && Date.now() < known.freshUntilMs) return known.file;
    const file = path.join(this.#folder, claimName("linked", this.#suffix));
    if (known) refreshClaim(file);
    else makeClaim(file);
    if (linkedFiles.size === 0) process.once("exit", withdrawLinkedFiles);
    linkedFiles.add(file);
    this.#linked = { file, freshUntilMs: Date.now() + REFRESH_AFTER_MS };
    return file;
  }

  async #rivalThatStays(threadId: ThreadId, name: string): Promise<ClaimFile | undefined> {
    for (let look = 1; ; look++) {
      const rivals = this.#rivals(threadId, name);
      const stronger = rivals.find((rival) => rival.name < name);
      const last = look === CONTENTION_LOOKS ? rivals[0] : undefined;
      if (rivals.length === 0 || stronger || last) return stronger ?? last;
      await delay(CONTENTION_STEP_MS);
    }
  }

  /** The first check also removes claims of processes that were killed while they held other threads. */
  #rivals(threadId: ThreadId, name: string): ClaimFile[] {
    const isOfInterest = (other: string) => other !== name && (!this.#clearedUp || other.startsWith(threadId));
    const claims = namesIn(this.#folder)
      .filter(isOfInterest)
      .flatMap((other) => parseClaim(other) ?? []);
    this.#clearedUp = true;
    return claims.filter((claim) => !this.#removeIfAbandoned(claim) && claim.subject === threadId);
  }

  #removeIfAbandoned(claim: ClaimFile): boolean {
    if (!isAbandoned(claim, this.#folder)) return false;
    withdrawClaim(path.join(this.#folder, claim.name));
    return true;
  }
}

function withdrawLinkedFiles(): void {
  for (const file of linkedFiles) withdrawClaim(file);
}

/** There is no folder before the first claim. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return [];
    throw error;
  }
}

function held(file: string): WriterLock {
  const stopRefreshing = keepFresh(file);
  return {
    release() {
      stopRefreshing();
      withdrawClaim(file);
    },
  };
}
