import { RECORDED_EFFORTS } from "./agent.js";
import { CONFIG_SCHEMA } from "./schema.js";
import {
  type ConfigType,
  choice,
  filePath,
  flag,
  inert,
  integer,
  listOf,
  mapOf,
  type Settings,
  type TableType,
  table,
  text,
} from "./settingTypes.js";

const EXPORTERS = choice(["none", "statsig", "otlp-http", "otlp-grpc"], { withContent: ["otlp-http", "otlp-grpc"] });

/** Settings that Codex 0.92.0 checked although they have no effect here, and settings that have more values today. */
const IN_CALLS: Readonly<Record<string, ConfigType>> = {
  model_reasoning_effort: choice(RECORDED_EFFORTS.named, { unlisted: RECORDED_EFFORTS.newer }),
  features: { ...tableAt("features"), others: flag },
  agents: table(fields({ max_threads: integer("usize", { atLeast: 1 }) })),
  skills: table(fields({ config: listOf(table(fields({ path: filePath, enabled: flag }), { required: ["path", "enabled"] })) })),
  analytics: table(fields({ enabled: flag })),
  feedback: table(fields({ enabled: flag })),
  check_for_update_on_startup: flag,
  disable_paste_burst: flag,
  suppress_unstable_features_warning: flag,
  windows_wsl_setup_acknowledged: flag,
  file_opener: choice(["vscode", "vscode-insiders", "windsurf", "cursor", "none"]),
  oss_provider: text,
  ghost_snapshot: table(
    fields({
      ignore_large_untracked_files: integer("i64"),
      ignore_untracked_files_over_bytes: integer("i64"),
      ignore_large_untracked_dirs: integer("i64"),
      large_untracked_dir_warning_threshold: integer("i64"),
      disable_warnings: flag,
    }),
  ),
  notice: table(
    fields({
      hide_full_access_warning: flag,
      hide_world_writable_warning: flag,
      hide_rate_limit_model_nudge: flag,
      hide_gpt5_1_migration_prompt: flag,
      "hide_gpt-5.1-codex-max_migration_prompt": flag,
      model_migrations: mapOf("<model>", text),
    }),
  ),
  otel: table(fields({ log_user_prompt: flag, environment: text, exporter: EXPORTERS, trace_exporter: EXPORTERS })),
  tui: table(
    fields({
      notifications: { kind: "anything", rule: notificationsProblem },
      animations: flag,
      show_tooltips: flag,
      experimental_mode: choice(["plan", "code", "pair_programming", "execute", "custom"]),
      alternate_screen: choice(["auto", "always", "never"]),
    }),
  ),
};

/** The schema by which Codex 0.92.0 checked the `config` of a call. */
export const RECORDED_SCHEMA: TableType = table({
  ...CONFIG_SCHEMA.fields,
  ...fields(IN_CALLS),
  profiles: inert(mapOf("<name>", table(inProfiles())), ""),
  mcp_servers: inert(mapOf("<name>", table(inServers())), ""),
});

function inProfiles(): Settings {
  const { fields: known } = entriesOf("profiles");
  return { ...known, ...fields(Object.fromEntries(Object.entries(IN_CALLS).filter(([key]) => Object.hasOwn(known, key)))) };
}

function inServers(): Settings {
  return { ...entriesOf("mcp_servers").fields, ...fields({ bearer_token: text }) };
}

function fields(types: Readonly<Record<string, ConfigType>>): Settings {
  return Object.fromEntries(Object.entries(types).map(([key, type]) => [key, inert(type, "")]));
}

function tableAt(key: string): TableType {
  const type = CONFIG_SCHEMA.fields[key]?.type;
  if (type?.kind !== "table") throw new Error(`The setting ${key} is not a table`);
  return type;
}

function entriesOf(key: string): TableType {
  const type = CONFIG_SCHEMA.fields[key]?.type;
  if (type?.kind !== "map" || type.of.kind !== "table") throw new Error(`The setting ${key} is not a map of tables`);
  return type.of;
}

function notificationsProblem(value: unknown): string | undefined {
  if (typeof value === "boolean") return undefined;
  if (Array.isArray(value) && value.every((entry) => typeof entry === "string")) return undefined;
  return "data did not match any variant of untagged enum Notifications";
}
