import { readFileSync, type Stats, statSync } from "node:fs";
import { describe } from "../../../lib/errors.js";
import { AccessMisconfigured } from "../errors.js";
import { FileWatch } from "../fileWatch.js";
import type { Identity, ScopeWords } from "../identity.js";
import { parseTokenFile } from "./tokenFile.js";
import { checkToken, TokenTable } from "./tokenTable.js";

export interface TokenSettings {
  /** From the command line and the environment. Each is its own principal, with `call` and `read`. */
  readonly tokens: readonly string[];
  readonly tokenFile?: string;
  readonly report: (line: string) => void;
  /** Called with every token in force, so that logs mask it. */
  readonly keepSecret?: (token: string) => void;
  readonly scopes: ScopeWords;
}

const MAX_FILE_BYTES = 1024 * 1024;
const READABLE_BY_OTHERS = 0o044;

/** The tokens that this server accepts. Those in a file change with the file. */
export class KnownTokens {
  readonly #settings: TokenSettings;
  readonly #changes: FileWatch;
  #table: TokenTable;

  private constructor(settings: TokenSettings) {
    this.#settings = settings;
    // Created before the file is read, so that no change in between is missed.
    this.#changes = new FileWatch(settings.tokenFile === undefined ? [] : [settings.tokenFile]);
    this.#table = readTable(settings);
  }

  /** Throws if a token or the token file cannot be used. */
  static open(settings: TokenSettings): KnownTokens {
    for (const token of settings.tokens) checkToken(token, "--token or CODEX_MCP_TOKEN");
    const known = new KnownTokens(settings);
    if (settings.tokenFile !== undefined) known.#changes.everySecond(() => known.#reread());
    return known;
  }

  /**
   * An unknown token may have just been added to the file. The file is read synchronously, so that guesses cannot get ahead of their
   * counter.
   */
  find(token: string): Identity | undefined {
    return this.#table.find(token) ?? (this.#reread() ? this.#table.find(token) : undefined);
  }

  get roots(): readonly string[] {
    return this.#table.roots;
  }

  close(): void {
    this.#changes.close();
  }

  /**
   * Returns whether the tokens have changed. If the file cannot be used, the previous tokens stay in force: a mistake must not lock
   * everyone out.
   */
  #reread(): boolean {
    if (!this.#changes.happened()) return false;
    const { tokenFile, report } = this.#settings;
    try {
      this.#table = readTable(this.#settings);
      report(`read the tokens of ${tokenFile} again`);
      return true;
    } catch (error) {
      report(`the previous tokens stay in force: ${describe(error)}`);
      return false;
    }
  }
}

function readTable({ tokens, tokenFile, report, keepSecret, scopes }: TokenSettings): TokenTable {
  const unnamed = tokens.map((token) => ({ token, scopes: scopes.usual }));
  const named = tokenFile === undefined ? [] : parseTokenFile(readTokenFile(tokenFile, report), tokenFile, scopes);
  const all = [...named, ...unnamed];
  for (const { token } of all) keepSecret?.(token);
  return new TokenTable(all);
}

function readTokenFile(file: string, report: (line: string) => void): string {
  const stats = statOf(file);
  if (!stats.isFile()) throw new AccessMisconfigured(`the token file ${file} is not a file`);
  if (stats.size > MAX_FILE_BYTES) throw new AccessMisconfigured(`the token file ${file} is larger than ${MAX_FILE_BYTES} bytes`);
  if (process.platform !== "win32" && (stats.mode & READABLE_BY_OTHERS) !== 0)
    report(`the token file ${file} can be read by other users of this machine; \`chmod 600\` keeps it private`);
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw unreadable(file, error);
  }
}

function statOf(file: string): Stats {
  try {
    return statSync(file);
  } catch (error) {
    throw unreadable(file, error);
  }
}

function unreadable(file: string, error: unknown): AccessMisconfigured {
  return new AccessMisconfigured(`the token file ${file} cannot be read: ${describe(error)}`, { cause: error });
}
