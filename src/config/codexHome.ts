import { realpathSync, statSync } from "node:fs";
import path from "node:path";
import { describe } from "../lib/errors.js";
import { userHome } from "../platform/userAccount.js";
import { CodexHomeMissing } from "./errors.js";

/** The folder with config.toml, auth.json and sessions/. Unless CODEX_HOME names it, it may not exist yet. */
export function findCodexHome(env: Readonly<NodeJS.ProcessEnv>): string {
  return env.CODEX_HOME ? namedFolder(env.CODEX_HOME) : path.join(userHome(env), ".codex");
}

function namedFolder(named: string): string {
  const found = realFolder(named);
  if (statSync(found).isDirectory()) return found;
  throw new CodexHomeMissing(`CODEX_HOME is set to ${named}, which is not a folder. Name a folder, or unset CODEX_HOME to use ~/.codex.`);
}

function realFolder(named: string): string {
  try {
    return realpathSync(named);
  } catch (error) {
    throw new CodexHomeMissing(
      `CODEX_HOME is set to ${named}, which cannot be opened (${describe(error)}). Create that folder, or unset CODEX_HOME to use ~/.codex.`,
      { cause: error },
    );
  }
}
