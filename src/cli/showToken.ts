import { findCodexHome } from "../config/codexHome.js";
import { keepOwnToken } from "../http/access/tokens/ownToken.js";
import { SCOPE_WORDS } from "../server/callers.js";

/** `codex-mcp-server token`: made by it when no server has been started yet, so that clients can be set up before. */
export function showToken(env: NodeJS.ProcessEnv): string {
  return `${keepOwnToken(findCodexHome(env), SCOPE_WORDS).token}\n`;
}
