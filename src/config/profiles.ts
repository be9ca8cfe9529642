import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { describe } from "../lib/errors.js";
import { ConfigFile } from "./configFile.js";
import { ConfigInvalid, ProfileNotFound } from "./errors.js";
import { profileTable } from "./layers.js";
import type { ConfigTree } from "./schema/settingTypes.js";
import { tableAt } from "./tree.js";

/** Codex accepts no other names, and none of these leads out of CODEX_HOME. */
const PLAIN_NAME = /^[\w-]+$/;
const ENDING = ".config.toml";
/** The limit of profile files that are kept. Each is a small object, and callers can only name existing files. */
const MOST_OPEN = 64;

/** A profile's settings, as top-level settings. */
interface Profile {
  readonly settings: ConfigTree;
  readonly notices: readonly string[];
}

export interface FoundProfile {
  readonly name: string;
  /** Why calls that name it fail. */
  readonly problem?: string;
}

interface ProfilesOptions {
  readonly codexHome: string;
  readonly home: string;
  readonly tolerant?: boolean | undefined;
}

/**
 * Named sets of settings: files `NAME.config.toml` beside config.toml, as in Codex since 0.134, and tables `[profiles.NAME]` in it, as in
 * earlier versions. If both exist, the file wins.
 */
export class Profiles {
  readonly #options: ProfilesOptions;
  readonly #files = new Map<string, ConfigFile>();

  constructor(options: ProfilesOptions) {
    this.#options = options;
  }

  /** The settings in its file; undefined where there is none. The same object while the file is unchanged. Throws `ConfigInvalid`. */
  read(name: string): ConfigTree | undefined {
    const file = this.#pathOf(name);
    if (file === undefined || !existsSync(file)) return undefined;
    const tree = this.#open(file).read();
    const nested = ["profile", "profiles"].find((key) => Object.hasOwn(tree, key));
    if (nested !== undefined) throw new ConfigInvalid(`error loading config: ${file}: \`${nested}\` cannot be set in a profile`);
    return tree;
  }

  /** Throws `ProfileNotFound`. `fromFile` is the result of `read`; `stated` has all settings. */
  layer(name: string, fromFile: ConfigTree | undefined, stated: ConfigTree): Profile {
    const table = profileTable(name, stated);
    if (fromFile !== undefined) {
      const passedOver = this.#files.get(this.#pathOf(name) ?? "")?.passedOver ?? [];
      const left = passedOver.map((key) => `the value of \`${key}\` in ${name}${ENDING} is unknown here and ignored`);
      const unused = table ? [`\`[profiles.${name}]\` of config.toml is not used, since there is a file ${name}${ENDING}`] : [];
      return { settings: fromFile, notices: [...left, ...unused] };
    }
    if (table !== undefined) return { settings: table, notices: [] };
    throw new ProfileNotFound(name, this.names(stated));
  }

  /** All profiles that can be named. */
  names(stated: ConfigTree): readonly string[] {
    return [...new Set([...this.#fileNames(), ...Object.keys(tableAt(stated, "profiles"))])].sort();
  }

  /** All profiles with a file, each checked. */
  examine(): readonly FoundProfile[] {
    return this.#fileNames().map((name) => {
      try {
        this.read(name);
        return { name };
      } catch (error) {
        return { name, problem: describe(error) };
      }
    });
  }

  #fileNames(): string[] {
    try {
      const names = readdirSync(this.#options.codexHome).filter((name) => name.endsWith(ENDING));
      return names.map((name) => name.slice(0, -ENDING.length)).filter((name) => PLAIN_NAME.test(name));
    } catch {
      return [];
    }
  }

  #pathOf(name: string): string | undefined {
    return PLAIN_NAME.test(name) ? path.join(this.#options.codexHome, `${name}${ENDING}`) : undefined;
  }

  #open(file: string): ConfigFile {
    const known = this.#files.get(file) ?? new ConfigFile(file, this.#options);
    if (this.#files.size >= MOST_OPEN) this.#files.clear();
    this.#files.set(file, known);
    return known;
  }
}
