import { FEATURES_GROUP } from "./settings/features.js";
import { ACCOUNT_GROUP, INTERFACE_GROUP, NEWER_CODEX_GROUP } from "./settings/inert.js";
import { INSTRUCTIONS_GROUP } from "./settings/instructions.js";
import { MCP_SERVERS_GROUP } from "./settings/mcpServers.js";
import { MODEL_GROUP } from "./settings/model.js";
import { profilesGroup } from "./settings/profiles.js";
import { PROVIDERS_GROUP } from "./settings/providers.js";
import { SAFETY_GROUP } from "./settings/safety.js";
import { SERVER_GROUP } from "./settings/server.js";
import { TOOLS_GROUP } from "./settings/tools.js";
import { type SettingGroup, type Settings, type TableType, table } from "./types.js";

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

/** What config.toml as a whole may hold. */
export const CONFIG_SCHEMA: TableType = table(settingsOf(CONFIG_GROUPS));

function settingsOf(groups: readonly SettingGroup[]): Settings {
  return Object.assign({}, ...groups.map((group) => group.settings));
}
