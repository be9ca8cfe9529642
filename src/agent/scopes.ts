import { AppError } from "../lib/errors.js";
import type { Caller, Scope } from "./caller.js";

/** A client on stdio is the user's own, and needs no scope for anything. */
export function hasScope(caller: Pick<Caller, "scopes"> | undefined, scope: Scope): boolean {
  return !caller || caller.scopes.includes(scope);
}

/** Throws `ScopeMissing`. */
export function checkScope(caller: Caller | undefined, scope: Scope): void {
  if (!hasScope(caller, scope)) throw new ScopeMissing(scope);
}

/** The caller is known, but was not given leave to do this. */
export class ScopeMissing extends AppError {
  readonly code = "scope_missing";

  constructor(scope: Scope) {
    super(
      `Over the network this needs the scope \`${scope}\`: use a token that has it (a word on its line of --token-file), or a client on stdio.`,
    );
  }
}

/**
 * Whether one of them may go on with what the other began: several tokens may have one name and give different leave, and what happens
 * inside of a turn never becomes what its caller does.
 */
export function standsAs(visitor: Omit<Caller, "sessionId">, beginner: Omit<Caller, "sessionId">): boolean {
  if (visitor.principal !== beginner.principal || visitor.inside !== beginner.inside) return false;
  return isWithin(beginner.scopes, visitor.scopes) && sameRoots(visitor.roots, beginner.roots);
}

function isWithin(scopes: readonly Scope[], others: readonly Scope[]): boolean {
  return scopes === others || scopes.every((scope) => others.includes(scope));
}

function sameRoots(roots: readonly string[] | undefined, others: readonly string[] | undefined): boolean {
  if (roots === others) return true;
  return roots?.length === others?.length && (roots ?? []).every((root, at) => root === others?.[at]);
}
