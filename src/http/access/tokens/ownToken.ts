import { randomBytes } from "node:crypto";
import { linkSync, lstatSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, errorCode } from "../../../lib/errors.js";
import { makeFolderSync } from "../../../lib/files/makeFolder.js";
import { AccessMisconfigured } from "../errors.js";
import type { ScopeWords } from "../identity.js";
import { parseTokenFile } from "./tokenFile.js";

const READABLE_BY_OTHERS = 0o077;
const TOKEN_BYTES = 32;

export interface OwnToken {
  readonly file: string;
  readonly token: string;
}

/**
 * The server's own token, created on first use: for connections whose user cannot be determined, for proxies, and for anyone to whom the
 * user gives it. It stands for the user and has all scopes.
 */
export function keepOwnToken(codexHome: string, scopes: ScopeWords): OwnToken {
  const file = path.join(codexHome, "mcp-server", "token");
  try {
    makeFolderSync(path.dirname(file));
    return { file, token: readOwnToken(file, scopes) ?? makeOwnToken(file, scopes) };
  } catch (error) {
    if (error instanceof AccessMisconfigured) throw error;
    throw new AccessMisconfigured(`the token of this server cannot be stored in ${file}: ${describe(error)}`, { cause: error });
  }
}

/** Undefined if there is none, or if others may have read it. */
function readOwnToken(file: string, scopes: ScopeWords): string | undefined {
  const stats = lstatSync(file, { throwIfNoEntry: false });
  if (!stats) return undefined;
  if (!stats.isFile()) throw new AccessMisconfigured(`${file} is not a file; remove it, and a new token will be created`);
  if (process.platform !== "win32" && (stats.mode & READABLE_BY_OTHERS) !== 0) {
    rmSync(file);
    return undefined;
  }
  return parseTokenFile(readFileSync(file, "utf8"), file, scopes)[0]?.token;
}

/** Created atomically. If two servers create it at the same time, both use the same one. */
function makeOwnToken(file: string, scopes: ScopeWords): string {
  const token = randomBytes(TOKEN_BYTES).toString("base64url");
  const draft = `${file}.${randomBytes(6).toString("hex")}.new`;
  writeFileSync(draft, `local ${token} ${scopes.operator}\n`, { mode: 0o600, flag: "wx" });
  try {
    linkSync(draft, file);
    return token;
  } catch (error) {
    const other = errorCode(error) === "EEXIST" ? readOwnToken(file, scopes) : undefined;
    if (other === undefined) throw error;
    return other;
  } finally {
    rmSync(draft, { force: true });
  }
}
