import { utimesSync } from "node:fs";

const REFRESH_EVERY_MS = 30_000;

const held = new Set<string>();
let timer: NodeJS.Timeout | undefined;

/** Keeps the file's time recent until the returned function is called. One timer serves all files of this process. */
export function keepFresh(file: string): () => void {
  held.add(file);
  timer ??= setInterval(refreshAll, REFRESH_EVERY_MS).unref();
  return () => {
    held.delete(file);
    if (held.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

function refreshAll(): void {
  const now = new Date();
  for (const file of held) {
    try {
      utimesSync(file, now, now);
    } catch {
      // Whoever removed the file, or made its folder unwritable, will not be kept out by us any more.
    }
  }
}
