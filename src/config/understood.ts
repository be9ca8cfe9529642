import { checkConfig } from "./check.js";
import { ConfigInvalid } from "./errors.js";
import { type ConfigTree, isTree, withValueAt } from "./tree.js";

/** The settings without those whose values we cannot read, and the names of these. */
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

function withoutValueAt(tree: ConfigTree, path: readonly string[]): ConfigTree {
  const last = path.at(-1);
  const above = path.slice(0, -1);
  const table = above.reduce<unknown>((level, key) => (isTree(level) ? level[key] : undefined), tree);
  const rest = Object.fromEntries(Object.entries(isTree(table) ? table : {}).filter(([key]) => key !== last));
  return above.length === 0 ? rest : withValueAt(tree, above, rest);
}
