import { ConfigInvalid } from "./errors.js";
import { treeOfOverrides } from "./overrides.js";
import { PROFILE_KEY_PATHS } from "./settings/profiles.js";
import { type ConfigTree, tableAt, textAt } from "./tree.js";

/** The settings of the chosen profile, as if they stood at the top level. `settings` is everything that was stated, checked. */
export function profileLayer(settings: ConfigTree): ConfigTree {
  const name = textAt(settings, "profile");
  if (name === undefined) return {};
  const profiles = tableAt(settings, "profiles");
  if (!Object.hasOwn(profiles, name)) throw new ConfigInvalid(`config profile \`${name}\` not found`);
  const entries = Object.entries(tableAt(profiles, name));
  return treeOfOverrides(entries.map(([key, value]) => ({ path: PROFILE_KEY_PATHS[key] ?? [key], value })));
}
