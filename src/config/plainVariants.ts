import type { ConfigTree, ConfigType, TableType } from "./schema/settingTypes.js";
import { isTree } from "./tree.js";

/**
 * Settings that Codex 0.92.0 accepted, in the one form that we use: a choice as a table with one key becomes its word, and an empty list
 * where a table belongs becomes an empty table.
 */
export function withPlainVariants(tree: ConfigTree, { fields }: TableType): ConfigTree {
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
  if (type.kind === "table") return withPlainVariants(value, type);
  if (type.kind !== "map") return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, plainValue(entry, type.of)]));
}
