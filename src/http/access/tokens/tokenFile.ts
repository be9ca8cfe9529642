import path from "node:path";
import { AccessMisconfigured } from "../errors.js";
import type { ScopeWords } from "../identity.js";
import { checkToken, type WrittenToken } from "./tokenTable.js";

/** Every request is compared with all tokens. */
const MAX_TOKENS = 1_000;
const NAME_FORM = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/;
const ROOT = "root=";

/**
 * Parses a token file with one token on each line:
 *
 *     # a comment
 *     TOKEN
 *     NAME TOKEN            or NAME: TOKEN
 *     NAME TOKEN call read manage
 *     NAME TOKEN operator   which is all of them
 *     NAME TOKEN root=/srv/a root=/srv/b
 *
 * A token without scopes has `call` and `read`. Several tokens may have the same name, so that one can be replaced while the other
 * still works. Errors name the line, never its content.
 */
export function parseTokenFile(text: string, file: string, scopes: ScopeWords): readonly WrittenToken[] {
  const tokens = new Map<string, WrittenToken>();
  for (const [at, line] of text.split("\n").entries()) {
    const where = `${file}, line ${at + 1}`;
    const written = parseLine(line, where, scopes);
    if (written === undefined) continue;
    if (tokens.has(written.token)) throw new AccessMisconfigured(`${where}: the token is already on a line above`);
    tokens.set(written.token, written);
  }
  if (tokens.size === 0) throw new AccessMisconfigured(`${file}: there is no token in it`);
  if (tokens.size > MAX_TOKENS) throw new AccessMisconfigured(`${file}: there are more than ${MAX_TOKENS} tokens in it`);
  return [...tokens.values()];
}

function parseLine(line: string, where: string, scopes: ScopeWords): WrittenToken | undefined {
  const [said = ""] = line.replace(/^\uFEFF/, "").split(/(?:^|\s)#/);
  const words = said
    .trim()
    .replace(/^([^\s:]+)\s*:\s*/, "$1 ")
    .split(/\s+/);
  if (words[0] === "") return undefined;
  // No grant is long enough for a token, or has its form, so that names and tokens come first whatever they are.
  const granted = words.findIndex((word, at) => at > 0 && isGrant(word, scopes));
  const [first = "", second, surplus] = granted < 0 ? words : words.slice(0, granted);
  const grants = granted < 0 ? [] : words.slice(granted);
  if (surplus !== undefined || !grants.every((word) => isGrant(word, scopes)))
    throw new AccessMisconfigured(`${where}: expected TOKEN, or NAME TOKEN, then perhaps ${scopes.all.join(", ")} or ${ROOT}DIR`);
  const token = second ?? first;
  checkToken(token, where);
  if (second !== undefined && !NAME_FORM.test(first))
    throw new AccessMisconfigured(`${where}: a name has up to 64 letters, digits and ._@- and begins with a letter or digit`);
  return { token, ...(second !== undefined && { name: first }), scopes: scopesIn(grants, scopes), ...rootsIn(grants, where) };
}

function isGrant(word: string, { all }: ScopeWords): boolean {
  return all.includes(word) || word.startsWith(ROOT);
}

function scopesIn(grants: readonly string[], { all, usual, operator }: ScopeWords): readonly string[] {
  const named = all.filter((scope) => grants.includes(scope));
  if (named.includes(operator)) return all;
  return named.length > 0 ? named : usual;
}

function rootsIn(grants: readonly string[], where: string): Pick<WrittenToken, "roots"> {
  const roots = grants.filter((word) => word.startsWith(ROOT)).map((word) => word.slice(ROOT.length));
  if (!roots.every((root) => path.isAbsolute(root))) throw new AccessMisconfigured(`${where}: ${ROOT} needs an absolute path`);
  return roots.length > 0 ? { roots: roots.map((root) => path.normalize(root)) } : {};
}
