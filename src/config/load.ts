import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import { parse, TomlError } from "smol-toml";
import { describe, errorCode } from "../lib/errors.js";
import { checkConfig } from "./check.js";
import { ConfigInvalid, complainingAbout } from "./errors.js";
import { anchorPaths } from "./paths.js";
import type { ConfigTree } from "./tree.js";
import { understoodPart } from "./understood.js";

const NO_SETTINGS: ConfigTree = {};

interface ConfigFileOptions {
  readonly home: string;
  /** Leaves out what it cannot read: somebody else reads the file too, and may be newer than we are. */
  readonly tolerant?: boolean | undefined;
}

/** A config.toml that may change while we run: each `read` costs one stat, and the file is read anew only when that differs. */
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

  /** The settings that a tolerant reader could not read and left out the last time. */
  get passedOver(): readonly string[] {
    return this.#passedOver;
  }

  /** The settings in it, each of the right type, paths absolute. A missing file has none. */
  read(): ConfigTree {
    const version = this.#version();
    if (version === undefined) return NO_SETTINGS;
    if (this.#known?.version !== version) this.#known = { version, tree: this.#load() };
    return this.#known.tree;
  }

  #version(): string | undefined {
    const stat = this.#reading(() => statSync(this.#path, { throwIfNoEntry: false }));
    return stat && `${stat.ino} ${stat.size} ${stat.mtimeMs} ${stat.ctimeMs}`;
  }

  #load(): ConfigTree {
    const tree = parseToml(
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

function parseToml(filePath: string, content: string): ConfigTree {
  try {
    return parse(content, { integersAsBigInt: "asNeeded" });
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    throw new ConfigInvalid(`error loading config: ${filePath}:${error.line}:${error.column}: ${reasonOf(error)}`, { cause: error });
  }
}

// The parser's message goes on with an excerpt of the file, which may hold secrets.
function reasonOf(error: TomlError): string {
  const [firstLine = ""] = error.message.split("\n");
  return firstLine.replace("Invalid TOML document: ", "");
}
