import { FEATURE_DEFAULTS, LEGACY_FEATURES } from "./settings/features.js";
import { type ConfigTree, flagAt, tableAt } from "./tree.js";

/** Every known feature, on or off: its default, an older switch, or its key under `features`, the last one given. */
export function resolveFeatures(settings: ConfigTree): Record<string, boolean> {
  const features = tableAt(settings, "features");
  const legacy = legacySwitches(settings);
  return Object.fromEntries(
    Object.entries(FEATURE_DEFAULTS).map(([name, byDefault]) => [name, flagAt(features, name) ?? legacy[name] ?? byDefault]),
  );
}

function legacySwitches(settings: ConfigTree): Record<string, boolean | undefined> {
  const tools = tableAt(settings, "tools");
  const switches: Record<string, boolean | undefined> = {
    web_search_request: flagAt(tools, "web_search") ?? flagAt(tools, "web_search_request"),
  };
  for (const [key, feature] of Object.entries(LEGACY_FEATURES)) switches[feature] ??= flagAt(settings, key);
  return switches;
}
