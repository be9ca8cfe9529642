import type { ConfigTree } from "./schema/settingTypes.js";

type MutableTree = { [key: string]: unknown };

/** Without a prototype, so that `__proto__` and `constructor` are ordinary keys. */
function emptyTree(): MutableTree {
  return Object.create(null);
}

export function isTree(value: unknown): value is ConfigTree {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** Later trees win; tables are merged key by key, everything else is replaced. The given trees are not changed. */
export function mergeTrees(...trees: readonly ConfigTree[]): ConfigTree {
  const merged = emptyTree();
  for (const tree of trees) {
    for (const [key, value] of Object.entries(tree)) {
      const below = merged[key];
      merged[key] = isTree(value) && isTree(below) ? mergeTrees(below, value) : value;
    }
  }
  return merged;
}

/** A copy of `tree` with `value` at `path`; other values on the path are replaced by tables. */
export function withValueAt(tree: ConfigTree, path: readonly string[], value: unknown): ConfigTree {
  const [key, ...rest] = path;
  if (key === undefined) return tree;
  const below = Object.hasOwn(tree, key) ? tree[key] : undefined;
  const copy: MutableTree = Object.assign(emptyTree(), tree);
  copy[key] = rest.length === 0 ? value : withValueAt(isTree(below) ? below : emptyTree(), rest, value);
  return copy;
}

/** The same tree without keys that are null or undefined. */
export function withoutAbsent(tree: ConfigTree): ConfigTree {
  const present = emptyTree();
  for (const [key, value] of Object.entries(tree)) {
    if (value === null || value === undefined) continue;
    present[key] = isTree(value) ? withoutAbsent(value) : value;
  }
  return present;
}

// Readers of a checked tree: absent values read as undefined or empty.

export function tableAt(tree: ConfigTree, key: string): ConfigTree {
  const value = ownValue(tree, key);
  return isTree(value) ? value : emptyTree();
}

export function textAt(tree: ConfigTree, key: string): string | undefined {
  const value = ownValue(tree, key);
  return typeof value === "string" ? value : undefined;
}

export function flagAt(tree: ConfigTree, key: string): boolean | undefined {
  const value = ownValue(tree, key);
  return typeof value === "boolean" ? value : undefined;
}

/** TOML integers beyond 2^53 only mean "no limit" here, so losing their last digits is harmless. */
export function numberAt(tree: ConfigTree, key: string): number | undefined {
  const value = ownValue(tree, key);
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : undefined;
}

export function textsAt(tree: ConfigTree, key: string): string[] | undefined {
  const value = ownValue(tree, key);
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : undefined;
}

export function choiceAt<Value extends string>(tree: ConfigTree, key: string, values: readonly Value[]): Value | undefined {
  const value = ownValue(tree, key);
  return values.find((allowed) => allowed === value);
}

export function textMapAt(tree: ConfigTree, key: string): Record<string, string> {
  const entries = Object.entries(tableAt(tree, key));
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

function ownValue(tree: ConfigTree, key: string): unknown {
  return Object.hasOwn(tree, key) ? tree[key] : undefined;
}
