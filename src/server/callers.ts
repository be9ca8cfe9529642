import type { IncomingMessage } from "node:http";
import { type Caller, INSIDE_CALLER, isMarked, type Principal, SCOPES, type Scope } from "../agent/caller.js";
import type { Identity, ScopeWords } from "../http/access/identity.js";

/** What access control writes in token files and gives to those it lets in. */
export const SCOPE_WORDS: ScopeWords & { readonly all: readonly Scope[] } = {
  all: SCOPES,
  usual: ["call", "read"],
  // Everything but what belongs to others.
  ownUser: ["call", "read", "manage"],
  manage: "manage",
  operator: "operator",
};

/**
 * Whoever comes from inside a turn is nobody else, whatever token it has. A turn says so itself when it calls a server on HTTP, since an address
 * may lead back here by any name and through any proxy; of other processes access control knows whether this server started them.
 */
export function callerOf({ principal, scopes, inside, roots, byCookie }: Identity, { headers }: Pick<IncomingMessage, "headers">): Caller {
  if (inside || isMarked(headers)) return INSIDE_CALLER;
  // Access control gives out names of its own making.
  return {
    principal: principal as Principal,
    scopes: SCOPES.filter((scope) => scopes.includes(scope)),
    ...(roots && { roots }),
    ...(byCookie && { inBrowser: true }),
  };
}
