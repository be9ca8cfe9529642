import { sweepLeftovers } from "../../../exec/killTree.js";
import { type Fields, isFields } from "../../../lib/fields.js";
import type { ThreadSettings } from "../../../threads/settings.js";
import { CodexRefused } from "./errors.js";
import { codexProgram } from "./findBinary.js";
import { type RunningCodex, Supervisor, type SupervisorOptions } from "./supervisor.js";

/** Each process takes 100 MB and more; needing more different ones is not an intended use. */
const MOST_PROCESSES = 8;

type ProviderChoice = Pick<ThreadSettings, "provider" | "stated">;

export interface AppServersOptions extends Omit<SupervisorOptions, "settings"> {
  /** The provider of a thread that states none. Absent: Codex reads it from config.toml. */
  readonly defaults?: () => ProviderChoice;
}

/** The Codex processes of this server: one for all threads, unless threads need different providers. */
export class AppServers {
  readonly #options: AppServersOptions;
  readonly #supervisors = new Map<string, Supervisor>();
  /** Processes lent for a single use. */
  readonly #temporary = new Set<Supervisor>();

  constructor(options: AppServersOptions) {
    this.#options = options;
  }

  /** Does not start the process yet. Throws `CodexRefused` for settings that cannot be passed to a process. */
  for(thread: ProviderChoice): Supervisor {
    return this.#with(processSettings(thread));
  }

  /** For work that concerns no particular thread. */
  usual(): Supervisor {
    return this.#with(this.#usualSettings());
  }

  /** The processes that may have loaded a thread, the usual one first: only the process that has loaded a thread may change its file. */
  holders(): readonly Supervisor[] {
    const usual = this.usual();
    return [usual, ...[...this.#supervisors.values()].filter((supervisor) => supervisor !== usual && supervisor.isRunning)];
  }

  /** Lends a Codex that runs in this folder with these settings, and ends it afterwards unless it is the usual one. */
  async lendIn<T>(cwd: string, work: (codex: RunningCodex) => Promise<T>, settings: readonly string[] = []): Promise<T> {
    if (cwd === this.#options.cwd && settings.length === 0) return this.usual().lend(work);
    const temporary = new Supervisor({ ...this.#options, cwd, settings: [...this.#usualSettings(), ...settings] });
    if (this.#temporary.size >= MOST_PROCESSES)
      throw new CodexRefused(`Codex runs in ${MOST_PROCESSES} other folders already; try again when one of them has finished.`);
    this.#temporary.add(temporary);
    try {
      return await temporary.lend(work);
    } finally {
      await temporary.close();
      this.#temporary.delete(temporary);
    }
  }

  /** Throws `CodexMissing` or `CodexUnusable`. */
  program(): string {
    return codexProgram(this.#options);
  }

  /** Resolves when all Codex processes have ended. */
  async close(): Promise<void> {
    await Promise.all([...this.#supervisors.values(), ...this.#temporary].map((supervisor) => supervisor.close()));
  }

  #usualSettings(): readonly string[] {
    const { defaults } = this.#options;
    return defaults ? processSettings(defaults()) : [];
  }

  #with(settings: readonly string[]): Supervisor {
    const key = settings.join("\n");
    const known = this.#supervisors.get(key);
    if (known) return known;
    if (this.#supervisors.size >= MOST_PROCESSES)
      throw new CodexRefused(`Codex runs for ${MOST_PROCESSES} different providers already; restart this server to use others.`);
    // When a server is killed, commands with full access that left their process group survive until the next server starts.
    if (this.#supervisors.size === 0) sweepLeftovers();
    const supervisor = new Supervisor({ ...this.#options, settings });
    this.#supervisors.set(key, supervisor);
    return supervisor;
  }
}

/** Their values may be secrets, and every user of the machine can read command lines. */
const NOT_ON_A_COMMAND_LINE = new Set(["experimental_bearer_token", "http_headers", "query_params"]);

/**
 * The `-c` arguments a Codex process needs to run threads with these settings: since 0.166 it only runs turns with the provider it was
 * started with. A provider that config.toml lacks is described by its stated settings.
 */
export function processSettings({ provider, stated }: Pick<ThreadSettings, "provider" | "stated">): readonly string[] {
  const description = tableIn(tableIn(stated, "model_providers"), provider.id);
  const described = Object.entries(description).flatMap(([key, value]) => settingLines(["model_providers", provider.id, key], value));
  return [settingLine(["model_provider"], provider.id), ...described];
}

function settingLines(path: readonly string[], value: unknown): string[] {
  if (path.some((key) => NOT_ON_A_COMMAND_LINE.has(key)))
    throw new CodexRefused(`Codex accepts \`${path.join(".")}\` only in config.toml: set it there, or use --engine native.`);
  if (isFields(value)) return Object.entries(value).flatMap(([key, below]) => settingLines([...path, key], below));
  return [settingLine(path, value)];
}

/** JSON's strings, numbers, booleans and lists of them are valid TOML with the same meaning. */
function settingLine(path: readonly string[], value: unknown): string {
  const odd = path.find((key) => !/^[\w-]+$/.test(key));
  if (odd !== undefined) throw new CodexRefused(`Codex does not accept \`${odd}\` on its command line: write it into config.toml.`);
  return `${path.join(".")}=${JSON.stringify(value)}`;
}

function tableIn(tree: Fields | undefined, key: string): Fields {
  const value = tree && Object.hasOwn(tree, key) ? tree[key] : undefined;
  return isFields(value) ? value : {};
}
