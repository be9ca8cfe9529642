import { findCodexHome } from "../config/codexHome.js";
import { keepOwnToken } from "../http/access/tokens/ownToken.js";
import { SCOPE_WORDS } from "../server/network.js";

/** `codex-mcp-server token`. Creates the token if it does not exist, so that clients can be configured before the first start. */
export function showToken(env: NodeJS.ProcessEnv): string {
  return `${keepOwnToken(findCodexHome(env), SCOPE_WORDS).token}\n`;
}
