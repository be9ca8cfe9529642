import { FEATURES_GROUP, INSTRUCTIONS_GROUP, MODEL_GROUP, TOOLS_GROUP } from "./agent.js";
import { ACCOUNT_GROUP, INTERFACE_GROUP, NEWER_CODEX_GROUP } from "./inert.js";
import { MCP_SERVERS_GROUP } from "./mcpServers.js";
import { profilesGroup } from "./profiles.js";
import { PROVIDERS_GROUP } from "./providers.js";
import { SAFETY_GROUP } from "./safety.js";
import { SERVER_GROUP } from "./server.js";
import { type SettingGroup, type Settings, type TableType, table } from "./settingTypes.js";

const GROUPS_OUTSIDE_PROFILES: readonly SettingGroup[] = [
  MODEL_GROUP,
  PROVIDERS_GROUP,
  INSTRUCTIONS_GROUP,
  SAFETY_GROUP,
  TOOLS_GROUP,
  MCP_SERVERS_GROUP,
  FEATURES_GROUP,
  SERVER_GROUP,
  ACCOUNT_GROUP,
  INTERFACE_GROUP,
  NEWER_CODEX_GROUP,
];

/** Every setting, in the order of docs/configuration.md, which is generated from here. */
export const CONFIG_GROUPS: readonly SettingGroup[] = [profilesGroup(settingsOf(GROUPS_OUTSIDE_PROFILES)), ...GROUPS_OUTSIDE_PROFILES];

/** The schema of a whole config.toml. */
export const CONFIG_SCHEMA: TableType = table(settingsOf(CONFIG_GROUPS));

function settingsOf(groups: readonly SettingGroup[]): Settings {
  return Object.assign({}, ...groups.map((group) => group.settings));
}
