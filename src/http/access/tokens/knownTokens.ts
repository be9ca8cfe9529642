import { readFileSync, type Stats, statSync } from "node:fs";
import { describe } from "../../../lib/errors.js";
import { AccessMisconfigured } from "../errors.js";
import { FileWatch } from "../fileWatch.js";
import type { Identity, ScopeWords } from "../identity.js";
import { parseTokenFile } from "./tokenFile.js";
import { checkToken, TokenTable } from "./tokenTable.js";

export interface TokenSettings {
  /** Of the command line and the environment. They stand for themselves, and may call and read. */
  readonly tokens: readonly string[];
  readonly tokenFile?: string;
  readonly report: (line: string) => void;
  /** Told of every token in force, so that none appears in a log. */
  readonly keepSecret?: (token: string) => void;
  readonly scopes: ScopeWords;
}

const MAX_FILE_BYTES = 1024 * 1024;
const READABLE_BY_OTHERS = 0o044;

/** The tokens this server takes; those of a file change with it. */
export class KnownTokens {
  readonly #settings: TokenSettings;
  readonly #changes: FileWatch;
  #table: TokenTable;

  private constructor(settings: TokenSettings) {
    this.#settings = settings;
    // Before the file is read, so that no change falls in between.
    this.#changes = new FileWatch(settings.tokenFile === undefined ? [] : [settings.tokenFile]);
    this.#table = readTable(settings);
  }

  /** Throws when there is a token, or a file of them, that cannot be used. */
  static open(settings: TokenSettings): KnownTokens {
    for (const token of settings.tokens) checkToken(token, "--token or CODEX_MCP_TOKEN");
    const known = new KnownTokens(settings);
    if (settings.tokenFile !== undefined) known.#changes.everySecond(() => known.#reread());
    return known;
  }

  /** A token that is not known may have been added to the file a moment ago. Files are read at once, so that guesses cannot overtake their count. */
  find(token: string): Identity | undefined {
    return this.#table.find(token) ?? (this.#reread() ? this.#table.find(token) : undefined);
  }

  get roots(): readonly string[] {
    return this.#table.roots;
  }

  close(): void {
    this.#changes.close();
  }

  /** Whether there are other tokens now. A file that cannot be used leaves those of before in force: a slip must not lock everybody out. */
  #reread(): boolean {
    if (!this.#changes.happened()) return false;
    const { tokenFile, report } = this.#settings;
    try {
      this.#table = readTable(this.#settings);
      report(`read the tokens of ${tokenFile} again`);
      return true;
    } catch (error) {
      report(`the tokens of before stay in force: ${describe(error)}`);
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
    report(`the token file ${file} can be read by other users of this machine; \`chmod 600\` keeps it to you`);
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
