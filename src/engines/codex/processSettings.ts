import { type Fields, isFields } from "../../lib/fields.js";
import type { ThreadSettings } from "../../threads/settings.js";
import { CodexRefused } from "./errors.js";

/** Their values may be secrets, and everybody on the machine can read a command line. */
const NOT_ON_A_COMMAND_LINE = new Set(["experimental_bearer_token", "http_headers", "query_params"]);

/**
 * What a Codex process must be started with to run threads with these settings, as arguments of its `-c`: from 0.166 on it takes
 * turns only with the provider that it was started with. A provider that config.toml does not have is described as it was stated.
 */
export function processSettings({ provider, stated }: Pick<ThreadSettings, "provider" | "stated">): readonly string[] {
  const description = tableIn(tableIn(stated, "model_providers"), provider.id);
  const described = Object.entries(description).flatMap(([key, value]) => settingLines(["model_providers", provider.id, key], value));
  return [settingLine(["model_provider"], provider.id), ...described];
}

function settingLines(path: readonly string[], value: unknown): string[] {
  if (path.some((key) => NOT_ON_A_COMMAND_LINE.has(key)))
    throw new CodexRefused(`Codex can be told \`${path.join(".")}\` only by config.toml: write it there, or use --engine native.`);
  if (isFields(value)) return Object.entries(value).flatMap(([key, below]) => settingLines([...path, key], below));
  return [settingLine(path, value)];
}

/** What JSON writes for texts, numbers, flags and lists of them, TOML reads as the same. */
function settingLine(path: readonly string[], value: unknown): string {
  const odd = path.find((key) => !/^[\w-]+$/.test(key));
  if (odd !== undefined) throw new CodexRefused(`Codex cannot be told about \`${odd}\` on its command line: write it into config.toml.`);
  return `${path.join(".")}=${JSON.stringify(value)}`;
}

function tableIn(tree: Fields | undefined, key: string): Fields {
  const value = tree && Object.hasOwn(tree, key) ? tree[key] : undefined;
  return isFields(value) ? value : {};
}
