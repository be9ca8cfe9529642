/** Searches for guarded names in a new folder before and after a command took the permission on a folder in it. Prints what was found. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { GuardedNameSearch } from "../../src/exec/sandbox/guardedNames.js";

const root = mkdtempSync(path.join(tmpdir(), "guarded-search-"));
const inner = path.join(root, "inner");
try {
  mkdirSync(path.join(inner, ".vscode"), { recursive: true });
  writeFileSync(path.join(inner, ".vscode", "tasks.json"), "{}");
  const search = new GuardedNameSearch();
  const before = await search.find(root);
  chmodSync(inner, 0);
  const after = await search.find(root);
  const shown = (files: readonly string[]) => files.map((file) => path.relative(root, file));
  const found = [before, after].map(({ names, unreadable }) => ({ names: shown(names), unreadable: shown(unreadable) }));
  process.stdout.write(JSON.stringify(found));
} finally {
  chmodSync(inner, 0o755);
  rmSync(root, { recursive: true });
}
