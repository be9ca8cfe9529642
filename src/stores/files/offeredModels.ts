import { createHash } from "node:crypto";
import path from "node:path";
import { describe } from "../../lib/errors.js";
import { isFields } from "../../lib/fields.js";
import { smallFileIfAny } from "../../lib/files/smallFile.js";
import { Tasks } from "../../lib/promises.js";
import { writeWholeFile } from "./wholeFile.js";

/** The limits of the names in the tool list, because every calling model pays for them. */
const MOST_NAMES = 12;
const LONGEST_NAME = 48;
const MOST_CHARACTERS = 200;
const MAX_BYTES = 4_096;
/** Older names are ignored. */
const LASTS_MS = 30 * 24 * 60 * 60_000;

/** A provider may send anything, and calling models read the names: this pattern has no room for sentences and control characters. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._:/@+-]*$/;

export interface OfferedModelsOptions {
  readonly codexHome: string;
  /** Identifies the provider of the models. */
  readonly source: () => unknown;
  readonly report: (line: string) => void;
}

/**
 * The names of the models that the provider of new threads offered last, stored below CODEX_HOME. A server reads them once: its list of
 * tools does not change while it runs.
 */
export class OfferedModels {
  readonly #options: OfferedModelsOptions;
  readonly #writes: Tasks;
  #names: readonly string[] | undefined;
  #written: string | undefined;

  constructor(options: OfferedModelsOptions) {
    this.#options = options;
    this.#writes = new Tasks((what, error) => options.report(`${what}: ${describe(error)}`));
  }

  /** Empty before `load`, and if nothing is stored. */
  get names(): readonly string[] {
    return this.#names ?? [];
  }

  /** Reads one small file synchronously. Never throws. */
  load(): void {
    this.#names ??= this.#kept();
  }

  /** For servers that start later. */
  keep(models: readonly { readonly model: string; readonly notOffered?: true }[]): void {
    const names = presentable(models.flatMap(({ model, notOffered }) => (notOffered ? [] : [model])));
    // A repeated request does not write the same names again.
    if (names.join() === this.#written) return;
    this.#written = names.join();
    this.#writes.start("the names of models could not be stored", () =>
      writeWholeFile(this.#file(), JSON.stringify({ at: Date.now(), names })),
    );
  }

  settle(): Promise<void> {
    return this.#writes.settle();
  }

  #kept(): readonly string[] {
    try {
      const kept: unknown = JSON.parse(smallFileIfAny(this.#file(), { maxBytes: MAX_BYTES }) ?? "null");
      if (!isFields(kept) || typeof kept["at"] !== "number" || Date.now() - kept["at"] > LASTS_MS) return [];
      return Array.isArray(kept["names"]) ? presentable(kept["names"]) : [];
    } catch {
      // A torn file, or an invalid configuration, which the first call will report.
      return [];
    }
  }

  #file(): string {
    const { codexHome, source } = this.#options;
    const key = createHash("sha256").update(JSON.stringify(source())).digest("hex").slice(0, 32);
    return path.join(codexHome, "mcp-server", "models", `${key}.json`);
  }
}

/** The names in their order, as many as there is room for. */
function presentable(names: readonly unknown[]): readonly string[] {
  const chosen: string[] = [];
  let characters = 0;
  for (const name of names) {
    if (typeof name !== "string" || name.length > LONGEST_NAME || !NAME.test(name) || chosen.includes(name)) continue;
    characters += name.length + 2;
    if (characters > MOST_CHARACTERS || chosen.length === MOST_NAMES) break;
    chosen.push(name);
  }
  return chosen;
}
