import { sweepLeftovers } from "../../exec/sandbox/plain.js";
import type { ThreadSettings } from "../../threads/settings.js";
import { CodexRefused } from "./errors.js";
import { codexProgram } from "./findBinary.js";
import { processSettings } from "./processSettings.js";
import { type RunningCodex, Supervisor, type SupervisorOptions } from "./supervisor.js";

/** Each takes 100 MB and more; a server that needs this many different ones is used in a way nobody foresaw. */
const MOST_PROCESSES = 8;

type ProviderChoice = Pick<ThreadSettings, "provider" | "stated">;

export interface AppServersOptions extends Omit<SupervisorOptions, "settings"> {
  /** What a thread gets for which nobody states anything. Absent: whatever Codex reads in config.toml. */
  readonly defaults?: () => ProviderChoice;
}

/** The Codex processes of this server: one for all threads, unless threads want different providers. */
export class AppServers {
  readonly #supervisors = new Map<string, Supervisor>();
  /** Those that are lent once. */
  readonly #passing = new Set<Supervisor>();

  constructor(private readonly options: AppServersOptions) {}

  /** Starts nothing yet. Throws `CodexRefused` for settings that no process can be given. */
  for(thread: ProviderChoice): Supervisor {
    return this.#with(processSettings(thread));
  }

  /** For what concerns no thread in particular. */
  usual(): Supervisor {
    return this.#with(this.#usualSettings());
  }

  /** Those that may have a thread, the usual one first: only the process that has loaded a thread may change its file. */
  holders(): readonly Supervisor[] {
    const usual = this.usual();
    return [usual, ...[...this.#supervisors.values()].filter((supervisor) => supervisor !== usual && supervisor.isRunning)];
  }

  /** Lends a Codex that runs in this folder and with these settings, and ends it afterwards unless it is the usual one. */
  async lendIn<T>(cwd: string, work: (codex: RunningCodex) => Promise<T>, settings: readonly string[] = []): Promise<T> {
    if (cwd === this.options.cwd && settings.length === 0) return this.usual().lend(work);
    const passing = new Supervisor({ ...this.options, cwd, settings: [...this.#usualSettings(), ...settings] });
    if (this.#passing.size >= MOST_PROCESSES)
      throw new CodexRefused(`Codex runs in ${MOST_PROCESSES} other folders already; try again when one is done.`);
    this.#passing.add(passing);
    try {
      return await passing.lend(work);
    } finally {
      await passing.close();
      this.#passing.delete(passing);
    }
  }

  /** Throws `CodexMissing` or `CodexUnusable`. */
  program(): string {
    return codexProgram(this.options);
  }

  /** Resolves when nothing of Codex lives any more. */
  async close(): Promise<void> {
    await Promise.all([...this.#supervisors.values(), ...this.#passing].map((supervisor) => supervisor.close()));
  }

  #usualSettings(): readonly string[] {
    const { defaults } = this.options;
    return defaults ? processSettings(defaults()) : [];
  }

  #with(settings: readonly string[]): Supervisor {
    const key = settings.join("\n");
    const known = this.#supervisors.get(key);
    if (known) return known;
    if (this.#supervisors.size >= MOST_PROCESSES)
      throw new CodexRefused(`Codex runs for ${MOST_PROCESSES} different providers already; restart this server to use others.`);
    // Commands with full access that left their group live on when a server is killed, until the next one comes.
    if (this.#supervisors.size === 0) sweepLeftovers();
    const supervisor = new Supervisor({ ...this.options, settings });
    this.#supervisors.set(key, supervisor);
    return supervisor;
  }
}
