import { existsSync, mkdtempSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const NAME = "codex-mcpd-test-run";

/** A temporary folder for modules that a worker's test files share. It is removed at the end of the run: workers are killed, and clean up nothing. */
export function folderOfRun(): string {
  return mkdtempSync(path.join(tmpdir(), `${NAME}-${process.ppid}-`));
}

/** Called by the process that starts the workers. */
export function removeFoldersOfRun(): void {
  for (const name of readdirSync(tmpdir()))
    if (name.startsWith(`${NAME}-${process.pid}-`)) rmSync(path.join(tmpdir(), name), { recursive: true, force: true });
}

/** Commands may write in /tmp, so these names are protected there while they run. */
const PLACEHOLDERS = [".git", ".codex", ".agents"].map((name) => path.join("/tmp", name));

/**
 * Returns a function that removes the placeholders that tests have left in /tmp since then: some tests kill servers, and remove the CODEX_HOME in
 * which the next server would have found what the killed one left.
 */
export function rememberPlaceholders(): () => void {
  const others = PLACEHOLDERS.filter((folder) => existsSync(folder));
  return () => {
    for (const folder of PLACEHOLDERS) if (!others.includes(folder) && existsSync(folder)) removeEmpty(folder);
  };
}

function removeEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch {
    // Somebody uses it.
  }
}
