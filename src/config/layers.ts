import path from "node:path";
import { parse } from "smol-toml";
import { ConfigInvalid, OverrideMalformed } from "./errors.js";
import { PROFILE_KEY_PATHS } from "./schema/profiles.js";
import { RECORDED_SCHEMA } from "./schema/recorded.js";
import { CONFIG_SCHEMA } from "./schema/schema.js";
import type { ConfigTree, ConfigType, TableType } from "./schema/settingTypes.js";
import { isTree, mergeTrees, tableAt, withoutAbsent, withValueAt } from "./tree.js";

/** One `-c key=value`, parsed. */
export interface Override {
  readonly path: readonly string[];
  readonly value: unknown;
}

// Up to the first `=` outside quotes.
const KEY_AND_VALUE = /^((?:"(?:[^"\\]|\\.)*"|'[^']*'|[^"'=])*)=(.*)$/s;

/** Parses the argument of `-c`: a dotted path with optionally quoted segments, and a TOML value or else plain text. */
export function parseOverride(argument: string): Override {
  const [, key = "", value = ""] = KEY_AND_VALUE.exec(argument) ?? [];
  if (key.trim() === "") throw new OverrideMalformed(`-c needs key=value, for example -c model="gpt-6.1-sol"; got: ${argument}`);
  return { path: parseKeyPath(key.trim()), value: parseValue(value.trim()) };
}

/** The overrides as one tree, in order: a later one replaces an earlier one. */
export function treeOfOverrides(overrides: readonly Override[]): ConfigTree {
  return overrides.reduce<ConfigTree>((tree, override) => withValueAt(tree, override.path, override.value), {});
}

/**
 * The `config` argument of a call as a tree. Its top-level keys may be dotted paths. Null counts as absent; with `asRecorded`, as an empty
 * string. A table and a dotted key into it are merged, because the order of a JSON object's keys means nothing.
 */
export function treeOfCallConfig(
  config: Readonly<Record<string, unknown>>,
  { asRecorded = false }: { readonly asRecorded?: boolean } = {},
): ConfigTree {
  checkSize(config);
  const given = asRecorded ? withEmptyTexts(config) : withoutAbsent(config);
  return mergeTrees(...Object.entries(given).map(([key, value]) => withValueAt({}, parseKeyPath(key), value)));
}

/** Far more than anyone needs. Without limits, merging many dotted keys of a caller would block the server. */
const MOST_VALUES = 1_000;
const DEEPEST = 32;
const LONGEST_KEY = 1_000;
const LONGEST_TEXT = 1024 * 1024;

/** Throws `ConfigInvalid`. */
function checkSize(config: ConfigTree): void {
  let values = 0;
  const look = (tree: object, depth: number) => {
    // Lists too: they are converted by recursion.
    for (const [key, value] of Object.entries(tree) as [string, unknown][]) {
      if (++values > MOST_VALUES) throw new ConfigInvalid(`\`config\` has more than ${MOST_VALUES} values`);
      if (key.length > LONGEST_KEY) throw new ConfigInvalid(`\`config\` has a key of more than ${LONGEST_KEY} characters`);
      if (typeof value === "string" && value.length > LONGEST_TEXT)
        throw new ConfigInvalid(`\`config\` has a text of more than ${LONGEST_TEXT} characters`);
      if (typeof value !== "object" || value === null) continue;
      if (depth === DEEPEST) throw new ConfigInvalid(`\`config\` has tables or lists in each other, more than ${DEEPEST} deep`);
      look(value, depth + 1);
    }
  };
  look(config, 1);
}

/** TOML has no null; Codex 0.92.0 converts it to an empty string. */
function withEmptyTexts(tree: ConfigTree): ConfigTree {
  return JSON.parse(JSON.stringify(tree, (_key, value: unknown) => value ?? "")) as ConfigTree;
}

/** A dotted path whose parts may be quoted, as in TOML keys. */
export function parseKeyPath(key: string): string[] {
  return (/["']/.test(key) ? quotedKeyPath(key) : undefined) ?? key.split(".");
}

// Uses the TOML parser to read a dotted key with quotes.
function quotedKeyPath(key: string): string[] | undefined {
  const parts: string[] = [];
  for (let level: unknown = parseToml(`${key} = 0`); isTree(level); level = Object.values(level)[0]) {
    const [part, ...more] = Object.keys(level);
    // Not a single key, but a piece of TOML.
    if (part === undefined || more.length > 0) return undefined;
    parts.push(part);
  }
  return parts.length > 0 ? parts : undefined;
}

function parseValue(written: string): unknown {
  const parsed = parseToml(`value = ${written}`);
  if (parsed && Object.keys(parsed).length === 1) return parsed.value;
  return written.replace(/^["']+|["']+$/g, "");
}

function parseToml(content: string): ConfigTree | undefined {
  try {
    return parse(content, { integersAsBigInt: "asNeeded" });
  } catch {
    return undefined;
  }
}

export interface PathAnchor {
  /** The base folder of relative paths. */
  readonly folder: string;
  /** The value of `~`. */
  readonly home: string;
}

/** A copy of the settings with absolute paths. Values of the wrong type are kept, so that the check reports them. */
export function anchorPaths(tree: ConfigTree, anchor: PathAnchor): ConfigTree {
  const anchored = anchorValue(tree, CONFIG_SCHEMA, anchor);
  return isTree(anchored) ? anchored : tree;
}

function anchorValue(value: unknown, type: ConfigType, anchor: PathAnchor): unknown {
  if (type.kind === "path") return typeof value === "string" ? absolutePath(value, anchor) : value;
  if (type.kind === "list" && Array.isArray(value)) return value.map((entry) => anchorValue(entry, type.of, anchor));
  if (type.kind === "map" && isTree(value)) return mapTree(value, (entry) => anchorValue(entry, type.of, anchor));
  if (type.kind !== "table" || !isTree(value)) return value;
  return mapTree(value, (entry, key) => {
    const setting = Object.hasOwn(type.fields, key) ? type.fields[key] : undefined;
    return setting ? anchorValue(entry, setting.type, anchor) : entry;
  });
}

function mapTree(tree: ConfigTree, map: (value: unknown, key: string) => unknown): ConfigTree {
  return Object.fromEntries(Object.entries(tree).map(([key, value]) => [key, map(value, key)]));
}

export function absolutePath(written: string, { folder, home }: PathAnchor): string {
  if (written === "~") return home;
  return written.startsWith("~/") ? path.join(home, written.slice(2)) : path.resolve(folder, written);
}

/** The settings of `[profiles.NAME]` as top-level settings; undefined where there is no such table. `stated` was checked. */
export function profileTable(name: string, stated: ConfigTree): ConfigTree | undefined {
  const profiles = tableAt(stated, "profiles");
  if (!Object.hasOwn(profiles, name)) return undefined;
  const entries = Object.entries(tableAt(profiles, name));
  return treeOfOverrides(entries.map(([key, value]) => ({ path: PROFILE_KEY_PATHS[key] ?? [key], value })));
}

/**
 * Converts two forms of settings that Codex 0.92.0 accepted: a table with one key in place of a choice becomes that key, and an empty list
 * in place of a table becomes an empty table.
 */
export function recordedForm(tree: ConfigTree, { fields }: TableType = RECORDED_SCHEMA): ConfigTree {
  return Object.fromEntries(
    Object.entries(tree).map(([key, value]) => {
      const type = Object.hasOwn(fields, key) ? fields[key]?.type : undefined;
      return [key, type ? plainValue(value, type) : value];
    }),
  );
}

function plainValue(value: unknown, type: ConfigType): unknown {
  if (type.kind === "choice") return isTree(value) ? Object.keys(value)[0] : value;
  if (type.kind === "table" && Array.isArray(value)) return {};
  if (!isTree(value)) return value;
  if (type.kind === "table") return recordedForm(value, type);
  if (type.kind !== "map") return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, plainValue(entry, type.of)]));
}
