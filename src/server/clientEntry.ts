import { reachOf } from "../http/access/host/hostName.js";
import { canTellUsers } from "../http/access/local/peers.js";
import { keepOwnToken } from "../http/access/tokens/ownToken.js";
import { describe, UsageError } from "../lib/errors.js";
import { SCOPE_WORDS } from "./callers.js";
import type { ListenOptions } from "./httpContext.js";

/** How clients come in where the command line says nothing about it. */
export interface ClientEntry {
  /** What a client's configuration must have besides the URL. */
  readonly asks: "nothing" | "own token" | "token" | "issuer";
  /** This machine says which user has made a connection. */
  readonly tellsUsers: boolean;
  readonly ownTokenFile?: string;
  readonly ownToken?: string;
}

/** Throws `UsageError` when other machines would be let in without a token. */
export function checkEntry({ host, allowUnauthenticated }: ListenOptions): void {
  if (allowUnauthenticated && reachOf(host) !== "this machine")
    throw new UsageError(
      `--allow-unauthenticated is for loopback: other machines come in with a token only, and could reach ${host || "this server"}`,
    );
}

/** Makes the server's own token where one is good for something. Throws when it cannot be kept and nobody could come in without. */
export function prepareEntry(
  { host, tokens, tokenFile, oauth, allowUnauthenticated }: ListenOptions,
  { codexHome, report }: { readonly codexHome: string; readonly report: (line: string) => void },
): ClientEntry {
  const tellsUsers = canTellUsers();
  if (tokens.length > 0 || tokenFile !== undefined) return { asks: "token", tellsUsers };
  if (oauth) return { asks: "issuer", tellsUsers };
  if (allowUnauthenticated || reachOf(host) !== "this machine") return { asks: "nothing", tellsUsers };
  const asks = tellsUsers ? "nothing" : "own token";
  try {
    const { file, token } = keepOwnToken(codexHome, SCOPE_WORDS);
    return { asks, tellsUsers, ownTokenFile: file, ownToken: token };
  } catch (error) {
    if (!tellsUsers) throw error;
    report(`only this user's own connections come in: ${describe(error)}`);
    return { asks, tellsUsers };
  }
}

/** What a client's configuration says to come to this server. A token is shown to whoever looks, not to files that stderr may lead to. */
export function clientSnippet(url: string, { asks, ownToken, seenByUser }: ClientEntry & { readonly seenByUser: boolean }): string {
  const isShown = asks === "own token" && seenByUser && ownToken !== undefined;
  const headers = { Authorization: `Bearer ${isShown ? ownToken : "TOKEN"}` };
  const server = { type: "http", url, ...(asks === "nothing" || asks === "issuer" ? {} : { headers }) };
  const hint = asks === "own token" && !isShown ? " (`codex-mcp-server token` shows the TOKEN)" : "";
  return `clients connect with {"mcpServers": {"codex": ${JSON.stringify(server)}}}${hint}`;
}
