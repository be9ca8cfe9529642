import { isLikelySecret } from "../lib/likelySecret.js";
import { type ConfigTree, tableAt, textAt, textMapAt, textsAt } from "./tree.js";

/** Of the built-in provider. */
const OPENAI_KEYS = ["OPENAI_API_KEY", "CODEX_API_KEY"];

/** Variables that the configuration says hold secrets: keys of all providers, in use or not, and what MCP servers are given, enabled or not. */
export function secretNames(settings: ConfigTree): string[] {
  const names = [
    ...OPENAI_KEYS,
    ...tablesIn(settings, "model_providers").flatMap(ofProvider),
    ...tablesIn(settings, "mcp_servers").flatMap(ofServer),
  ];
  return [...new Set(names)];
}

function ofProvider(entry: ConfigTree): string[] {
  return [textAt(entry, "env_key") ?? [], Object.values(textMapAt(entry, "env_http_headers"))].flat();
}

/** What is passed on to a server need not be secret: DISPLAY, for one. */
function ofServer(entry: ConfigTree): string[] {
  const passedOn = (textsAt(entry, "env_vars") ?? []).filter((name) => isLikelySecret(name));
  return [textAt(entry, "bearer_token_env_var") ?? [], Object.values(textMapAt(entry, "env_http_headers")), passedOn].flat();
}

function tablesIn(settings: ConfigTree, key: string): ConfigTree[] {
  const tables = tableAt(settings, key);
  return Object.keys(tables).map((name) => tableAt(tables, name));
}
