import { statSync } from "node:fs";
import { describe } from "../../lib/errors.js";

const LOOK_EVERY_MS = 1_000;

/**
 * Detects that one of some files was written, replaced or removed. It polls instead of using file system notifications: editors replace
 * files, mounted secrets are links to links, and network file systems send no notifications.
 */
export class FileWatch {
  readonly #files: readonly string[];
  #seen: string;
  #timer: NodeJS.Timeout | undefined;

  constructor(files: readonly string[]) {
    this.#files = files;
    this.#seen = this.#look();
  }

  /** Whether something changed since the last call. */
  happened(): boolean {
    const look = this.#look();
    const same = look === this.#seen;
    this.#seen = look;
    return !same;
  }

  /** Calls `look` every second until `close`. `look` may call `happened`. */
  everySecond(look: () => void): void {
    this.#timer ??= setInterval(look, LOOK_EVERY_MS).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #look(): string {
    return this.#files.map(lookOf).join("\n");
  }
}

function lookOf(file: string): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(file);
    return `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  } catch (error) {
    return describe(error);
  }
}
