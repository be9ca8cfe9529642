import { treeOfCallConfig } from "../config/layers.js";
import { CONFIG_SCHEMA } from "../config/schema/schema.js";
import type { ConfigTree, ConfigType } from "../config/schema/settingTypes.js";
import { isTree } from "../config/tree.js";

type KeyPath = readonly string[];

/** What the `config` of a network call may name by itself: how the model is asked, and what has an argument of its own anyway. */
const ALLOWED: readonly KeyPath[] = [
  ["model"],
  ["model_reasoning_effort"],
  ["model_reasoning_summary"],
  ["model_verbosity"],
  ["model_supports_reasoning_summaries"],
  ["model_context_window"],
  ["model_auto_compact_token_limit"],
  ["model_personality"],
  ["hide_agent_reasoning"],
  ["show_raw_agent_reasoning"],
  ["project_doc_max_bytes"],
  ["tool_output_token_limit"],
  // Their effect is checked on the settings that come of them.
  ["profile"],
  ["approval_policy"],
  ["sandbox_mode"],
  ["developer_instructions"],
  ["compact_prompt"],
];

/** Never from the network, whoever wishes it: a program, a URL, a header, a key or a file is named in there, or the rules are made. */
const FORBIDDEN: readonly KeyPath[] = [
  ["mcp_servers"],
  ["mcp_server"],
  ["model_providers"],
  ["notify"],
  ["shell_environment_policy"],
  ["sandbox_workspace_write"],
  ["profiles"],
  ["projects"],
  ["project_doc_fallback_filenames"],
  ["project_root_markers"],
  // Whoever the rules bind must not turn them off.
  ["features", "exec_policy"],
  ["approvals_reviewer"],
  ["auto_review"],
  ["default_permissions"],
  ["permissions"],
  ["hooks"],
  ["plugins"],
  ["marketplaces"],
  ["skills"],
  ["apps"],
  ["otel"],
  ["model_catalog_json"],
  ["js_repl_node_module_dirs"],
  ["experimental_thread_store"],
];

/** Keys of any Codex that are named after what they hold. */
const TELLING_NAME =
  /(?:^|_)(?:url|endpoint|file|filename|path|dir|home|command|program|header|env|env_var|secret|api_key|bearer_token)s?$/;

/** What a call's `config` names and may not. `added` are the keys that whoever runs the server allows besides. */
export function refusedKeys(config: Readonly<Record<string, unknown>>, added: readonly KeyPath[]): KeyPath[] {
  const allowed = [...ALLOWED, ...added];
  return leavesOf(treeOfCallConfig(config)).filter((path) => isForbidden(path) || !allowed.some((key) => isAtOrBelow(path, key)));
}

/** Whether no setting makes this key available to network callers. */
export function isForbidden(path: KeyPath): boolean {
  return FORBIDDEN.some((family) => isAtOrBelow(path, family)) || path.some((part) => TELLING_NAME.test(part)) || namesFile(path);
}

function isAtOrBelow(path: KeyPath, key: KeyPath): boolean {
  return key.every((part, at) => path[at] === part);
}

/** Every path that ends in a value; an empty table counts as one, since it says something too. */
function leavesOf(tree: ConfigTree, above: KeyPath = []): KeyPath[] {
  return Object.entries(tree).flatMap(([key, value]) => {
    const path = [...above, key];
    return isTree(value) && Object.keys(value).length > 0 ? leavesOf(value, path) : [path];
  });
}

function namesFile(path: KeyPath): boolean {
  let type: ConfigType | undefined = CONFIG_SCHEMA;
  for (const part of path) type = typeBelow(type, part);
  return type?.kind === "path" || (type?.kind === "list" && type.of.kind === "path");
}

function typeBelow(type: ConfigType | undefined, key: string): ConfigType | undefined {
  if (type?.kind === "map") return type.of;
  if (type?.kind !== "table" || !Object.hasOwn(type.fields, key)) return undefined;
  return type.fields[key]?.type;
}
