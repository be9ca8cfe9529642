import path from "node:path";
import { CONFIG_SCHEMA } from "./schema.js";
import { type ConfigTree, isTree } from "./tree.js";
import type { ConfigType } from "./types.js";

export interface PathAnchor {
  /** The folder relative paths count from. */
  readonly folder: string;
  /** What `~` stands for. */
  readonly home: string;
}

/** A copy of the settings in which every path is absolute. Values of the wrong type stay as they are, for the check to name. */
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

function absolutePath(written: string, { folder, home }: PathAnchor): string {
  if (written === "~") return home;
  return written.startsWith("~/") ? path.join(home, written.slice(2)) : path.resolve(folder, written);
}
