import { type Fields, isFields } from "../lib/fields.js";
import { isSecretName, MASK, maskLikelySecrets } from "../observability/redact.js";

/** Settings in config.toml's form without secrets: readers see where keys come from, but no keys. */
export function maskedConfig(config: Fields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(config).map(([key, value]) => [key, maskedSetting(key, value)]));
}

/** Tables whose values are headers and variables, whatever their names. */
const SECRET_TABLES = new Set(["headers", "http_headers", "env", "set", "query_params"]);
/** Named like keys, but only name the variable that holds one. */
const VARIABLE_NAMES = new Set(["env_key", "env_http_headers", "env_vars"]);

function maskedSetting(key: string, value: unknown): unknown {
  if (VARIABLE_NAMES.has(key)) return value;
  if (SECRET_TABLES.has(key) || isSecretName(key)) return hidden(value);
  if (Array.isArray(value)) return maskedList(value);
  if (isFields(value)) return maskedConfig(value);
  return typeof value === "string" ? maskLikelySecrets(value) : value;
}

/** Includes program arguments: `--token` announces a secret, in the same word or the next. */
function maskedList(values: readonly unknown[]): unknown[] {
  return values.map((value, at) => {
    const [option, ...given] = optionIn(value);
    if (option !== undefined && given.length > 0 && isSecretName(option)) return `--${option}=${MASK}`;
    const [announced, ...already] = optionIn(values[at - 1]);
    return announced !== undefined && already.length === 0 && isSecretName(announced) ? hidden(value) : maskedSetting("", value);
  });
}

/** The name of a command-line option, and its value when it is in the same word. */
function optionIn(word: unknown): string[] {
  const [, name, value] = (typeof word === "string" && /^--?([\w-]+)(?:=(.*))?$/s.exec(word)) || [];
  return [name, value].filter((part) => part !== undefined);
}

function hidden(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(hidden);
  if (isFields(value)) return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, hidden(inner)]));
  return typeof value === "string" || typeof value === "number" ? MASK : value;
}
