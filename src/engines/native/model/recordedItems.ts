import { type Fields, isFields } from "../../../lib/fields.js";
import type { RawItem } from "../../../threads/items.js";

/**
 * A model's item as Codex 0.92.0 parsed it: undefined where a required field is missing or of another type, because Codex dropped such
 * items, and `other` for unknown kinds. Unknown fields are left out where the recordings show it.
 */
export function recordedItem(raw: RawItem): RawItem | undefined {
  switch (raw.type) {
    case "message":
      return typeof raw["role"] === "string" && Array.isArray(raw["content"]) && raw["content"].every(isKnownPart) ? raw : undefined;
    case "function_call":
      return hasTexts(raw, "name", "arguments", "call_id") ? raw : undefined;
    case "custom_tool_call":
      return hasTexts(raw, "name", "input", "call_id") ? raw : undefined;
    case "function_call_output":
    case "custom_tool_call_output":
      return hasTexts(raw, "call_id") ? { type: raw.type, call_id: raw["call_id"], output: raw["output"] } : undefined;
    case "web_search_call":
      return recordedSearch(raw);
    case "compaction":
    case "compaction_summary":
      return hasTexts(raw, "encrypted_content") ? { type: "compaction", encrypted_content: raw["encrypted_content"] } : undefined;
    case "ghost_snapshot":
      return recordedSnapshot(raw);
    case "reasoning":
      return isListOf(isSummaryPart, raw["summary"]) && isListOf(isReasoningPart, raw["content"] ?? []) ? raw : undefined;
    case "local_shell_call":
      return raw;
    default:
      return { type: "other" };
  }
}

const ACTION_FIELDS: Readonly<Record<string, readonly string[]>> = {
  search: ["query"],
  open_page: ["url"],
  find_in_page: ["url", "pattern"],
};

function recordedSnapshot({ type, ghost_commit }: RawItem): RawItem | undefined {
  if (!isFields(ghost_commit) || !hasTexts(ghost_commit, "id")) return undefined;
  const { id, parent = null, preexisting_untracked_files, preexisting_untracked_dirs } = ghost_commit;
  if (parent !== null && typeof parent !== "string") return undefined;
  if (![preexisting_untracked_files, preexisting_untracked_dirs].every(isTexts)) return undefined;
  return { type, ghost_commit: { id, parent, preexisting_untracked_files, preexisting_untracked_dirs } };
}

function isTexts(value: unknown): boolean {
  return isListOf((entry) => typeof entry === "string", value);
}

function isListOf(isEntry: (value: unknown) => boolean, value: unknown): boolean {
  return Array.isArray(value) && value.every(isEntry);
}

function recordedSearch(raw: RawItem): RawItem {
  const { action, ...rest } = raw;
  return isFields(action) ? { ...raw, action: recordedAction(action) } : rest;
}

function recordedAction(action: Fields): Fields {
  const known = ACTION_FIELDS[String(action["type"])];
  if (!known) return { type: "other" };
  return Object.fromEntries(["type", ...known].filter((name) => name in action).map((name) => [name, action[name]]));
}

function isSummaryPart(part: unknown): boolean {
  return isFields(part) && part["type"] === "summary_text" && hasTexts(part, "text");
}

function isReasoningPart(part: unknown): boolean {
  return isFields(part) && ["reasoning_text", "text"].includes(String(part["type"])) && hasTexts(part, "text");
}

const TEXT_PARTS = ["input_text", "output_text"];

function isKnownPart(part: unknown): boolean {
  if (!isFields(part)) return false;
  return TEXT_PARTS.includes(String(part["type"])) ? hasTexts(part, "text") : part["type"] === "input_image" && hasTexts(part, "image_url");
}

function hasTexts(fields: Fields, ...names: readonly string[]): boolean {
  return names.every((name) => typeof fields[name] === "string");
}
