import type { ThreadSettings } from "../../threads/model.js";
import { CodexRefused } from "./errors.js";
import { processSettings } from "./processSettings.js";
import { Supervisor, type SupervisorOptions } from "./supervisor.js";

/** Each takes 100 MB and more; a server that needs this many different ones is used in a way nobody foresaw. */
const MOST_PROCESSES = 8;

/** The Codex processes of this server: one for all threads, unless threads want different providers. */
export class AppServers {
  readonly #supervisors = new Map<string, Supervisor>();

  constructor(private readonly options: Omit<SupervisorOptions, "settings">) {}

  /** Starts nothing yet. Throws `CodexRefused` for settings that no process can be given. */
  for(thread: Pick<ThreadSettings, "provider" | "stated">): Supervisor {
    const settings = processSettings(thread);
    const key = settings.join("\n");
    const known = this.#supervisors.get(key);
    if (known) return known;
    if (this.#supervisors.size >= MOST_PROCESSES)
      throw new CodexRefused(`Codex runs for ${MOST_PROCESSES} different providers already; restart this server to use others.`);
    const supervisor = new Supervisor({ ...this.options, settings });
    this.#supervisors.set(key, supervisor);
    return supervisor;
  }

  /** Resolves when nothing of Codex lives any more. */
  async close(): Promise<void> {
    await Promise.all([...this.#supervisors.values()].map((supervisor) => supervisor.close()));
  }
}
