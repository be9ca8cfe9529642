import { readFileSync, type Stats, statSync } from "node:fs";
import path from "node:path";
import { parse, TomlError } from "smol-toml";
import { describe, errorCode } from "../lib/errors.js";
import { checkConfig } from "./check.js";
import { ConfigInvalid, complainingAbout } from "./errors.js";
import { anchorPaths } from "./layers.js";
import type { ConfigTree } from "./schema/settingTypes.js";
import { isTree, withValueAt } from "./tree.js";

const NO_SETTINGS: ConfigTree = {};

interface ConfigFileOptions {
  readonly home: string;
  /** Skips values it cannot read: another program reads the file too, and may be newer than we are. */
  readonly tolerant?: boolean | undefined;
}

/**
 * A config.toml or profile file that may change while we run: each `read` costs one stat, and the file is read again only when that
 * differs.
 */
export class ConfigFile {
  readonly #path: string;
  readonly #home: string;
  readonly #tolerant: boolean;
  #known: { readonly version: string; readonly tree: ConfigTree } | undefined;
  #passedOver: readonly string[] = [];

  constructor(filePath: string, { home, tolerant = false }: ConfigFileOptions) {
    this.#path = filePath;
    this.#home = home;
    this.#tolerant = tolerant;
  }

  /** The settings that the last tolerant read skipped. */
  get passedOver(): readonly string[] {
    return this.#passedOver;
  }

  /** Its settings, each of the right type, paths absolute. A missing file has none. */
  read(): ConfigTree {
    const version = this.#version();
    if (version === undefined) return NO_SETTINGS;
    if (this.#known?.version !== version) this.#known = { version, tree: this.#load() };
    return this.#known.tree;
  }

  #version(): string | undefined {
    const stat = this.#reading(() => notPipe(statSync(this.#path, { throwIfNoEntry: false })));
    return stat && `${stat.ino} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}`;
  }

  #load(): ConfigTree {
    const tree = parseConfig(
      this.#path,
      this.#reading(() => readFileSync(this.#path, "utf8")),
    );
    return anchorPaths(this.#checked(tree), { folder: path.dirname(this.#path), home: this.#home });
  }

  #checked(tree: ConfigTree): ConfigTree {
    if (!this.#tolerant) {
      complainingAbout(`error loading config: ${this.#path}`, () => checkConfig(tree, { partial: true }));
      return tree;
    }
    const understood = understoodPart(tree);
    this.#passedOver = understood.passedOver;
    return understood.tree;
  }

  #reading<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      throw new ConfigInvalid(`error loading config: ${this.#path} cannot be read (${errorCode(error) ?? describe(error)})`, {
        cause: error,
      });
    }
  }
}

/** Throws for a pipe, because reading it would wait for its writer. */
export function notPipe<S extends Pick<Stats, "isFIFO"> | undefined>(stats: S): S {
  if (stats?.isFIFO()) throw new Error("it is a pipe, not a file");
  return stats;
}

/** Throws `ConfigInvalid` with file, line and column. */
export function parseConfig(filePath: string, content: string): ConfigTree {
  try {
    return parse(content, { integersAsBigInt: "asNeeded" });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    throw new ConfigInvalid(`error loading config: ${filePath}:${error.line}:${error.column}: ${reasonOf(error)}`, { cause: error });
  }
}

// The parser's message includes an excerpt of the file, which may contain secrets.
function reasonOf(error: TomlError): string {
  const [firstLine = ""] = error.message.split("\n");
  return firstLine.replace("Invalid TOML document: ", "");
}

/** The settings without those whose values we cannot read, and the names of the skipped ones. */
export function understoodPart(tree: ConfigTree): { readonly tree: ConfigTree; readonly passedOver: readonly string[] } {
  const passedOver: string[] = [];
  for (let rest = tree; ; ) {
    const place = firstFault(rest);
    if (place === undefined) return { tree: rest, passedOver };
    passedOver.push(place.join("."));
    rest = withoutValueAt(rest, place);
  }
}

function firstFault(tree: ConfigTree): readonly string[] | undefined {
  try {
    checkConfig(tree, { partial: true });
    return undefined;
  } catch (error) {
    if (error instanceof ConfigInvalid && error.place !== undefined && error.place.length > 0) return error.place;
    throw error;
  }
}

function withoutValueAt(tree: ConfigTree, place: readonly string[]): ConfigTree {
  const last = place.at(-1);
  const above = place.slice(0, -1);
  const table = above.reduce<unknown>((level, key) => (isTree(level) ? level[key] : undefined), tree);
  const rest = Object.fromEntries(Object.entries(isTree(table) ? table : {}).filter(([key]) => key !== last));
  return above.length === 0 ? rest : withValueAt(tree, above, rest);
}
