import { reachOf } from "../http/access/host/hostName.js";
import { canTellUsers } from "../http/access/local/localLogin.js";
import { keepOwnToken } from "../http/access/tokens/ownToken.js";
import { describe, UsageError } from "../lib/errors.js";
import type { ListenOptions } from "./httpContext.js";
import { SCOPE_WORDS } from "./network.js";

/** How clients authenticate if the command line does not say. */
export interface ClientEntry {
  /** What a client's configuration needs besides the URL. */
  readonly asks: "nothing" | "own-token" | "token" | "issuer";
  /** Whether the operating system reports which user opened a connection. */
  readonly tellsUsers: boolean;
  readonly ownTokenFile?: string;
  readonly ownToken?: string;
}

/** Throws `UsageError` if other machines would be admitted without a token. */
export function checkEntry({ host, allowUnauthenticated }: ListenOptions): void {
  if (allowUnauthenticated && reachOf(host) !== "loopback")
    throw new UsageError(
      `--allow-unauthenticated is only for loopback: other machines need a token, and could reach ${host || "this server"}`,
    );
}

/** Creates the server's own token where it is useful. Throws if the token cannot be stored and no client could connect without it. */
export function prepareEntry(
  { host, tokens, tokenFile, oauth, allowUnauthenticated }: ListenOptions,
  { codexHome, report }: { readonly codexHome: string; readonly report: (line: string) => void },
): ClientEntry {
  const tellsUsers = canTellUsers();
  if (tokens.length > 0 || tokenFile !== undefined) return { asks: "token", tellsUsers };
  if (oauth) return { asks: "issuer", tellsUsers };
  if (allowUnauthenticated || reachOf(host) !== "loopback") return { asks: "nothing", tellsUsers };
  const asks = tellsUsers ? "nothing" : "own-token";
  try {
    const { file, token } = keepOwnToken(codexHome, SCOPE_WORDS);
    return { asks, tellsUsers, ownTokenFile: file, ownToken: token };
  } catch (error) {
    if (!tellsUsers) throw error;
    report(`only connections of this user are accepted: ${describe(error)}`);
    return { asks, tellsUsers };
  }
}

/** The client configuration for this server. The token is shown only on a terminal, because stderr may go to a file. */
export function clientSnippet(url: string, { asks, ownToken, seenByUser }: ClientEntry & { readonly seenByUser: boolean }): string {
  const isShown = asks === "own-token" && seenByUser && ownToken !== undefined;
  const headers = { Authorization: `Bearer ${isShown ? ownToken : "TOKEN"}` };
  const server = { type: "http", url, ...(asks === "nothing" || asks === "issuer" ? {} : { headers }) };
  const hint = asks === "own-token" && !isShown ? " (`codex-mcp-server token` shows the TOKEN)" : "";
  return `clients connect with {"mcpServers": {"codex": ${JSON.stringify(server)}}}${hint}`;
}
