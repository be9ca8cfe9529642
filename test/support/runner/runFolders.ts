import { mkdtempSync, readdirSync, rmSync } from "node:fs";
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
