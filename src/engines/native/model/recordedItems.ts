import { type Fields, isFields } from "../../../lib/fields.js";
import type { RawItem } from "../../../threads/items.js";

/**
 * A model's item as Codex 0.92.0 parsed it: undefined where a required field is missing or a known one is of another type, because Codex
 * dropped such items, and `other` for unknown kinds. Unknown fields are left out where the recordings show it.
 */
export function recordedItem(raw: RawItem): RawItem | undefined {
  const shape = SHAPES.get(raw.type);
  if (!shape) return { type: "other" };
  if (!fits(raw, shape)) return undefined;
  switch (raw.type) {
    case "function_call_output":
    case "custom_tool_call_output":
      return { type: raw.type, call_id: raw["call_id"], output: raw["output"] };
    case "web_search_call":
      return recordedSearch(raw);
    case "compaction":
    case "compaction_summary":
      return { type: "compaction", encrypted_content: raw["encrypted_content"] };
    case "ghost_snapshot":
      return recordedSnapshot(raw);
    default:
      return raw;
  }
}

type Check = (value: unknown) => boolean;
type Shape = Readonly<Record<string, Check>>;

const text: Check = (value) => typeof value === "string";
const count: Check = (value) => Number.isInteger(value) && Number(value) >= 0;
const orAbsent =
  (check: Check): Check =>
  (value) =>
    value === undefined || check(value);
/** Codex took null for an absent field, but for fields with a default of their own. */
const orNull =
  (check: Check): Check =>
  (value) =>
    value === undefined || value === null || check(value);
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const oneOf =
  (...words: readonly string[]): Check =>
  (value) =>
    typeof value === "string" && words.includes(value);
const tableOf =
  (check: Check): Check =>
  (value) =>
    isFields(value) && Object.values(value).every(check);
const object =
  (shape: Shape): Check =>
  (value) =>
    isFields(value) && fits(value, shape);
const either =
  (...checks: readonly Check[]): Check =>
  (value) =>
    checks.some((check) => check(value));

function fits(fields: Fields, shape: Shape): boolean {
  return Object.entries(shape).every(([name, check]) => check(fields[name]));
}

const inputText = object({ type: oneOf("input_text"), text });
const inputImage = object({ type: oneOf("input_image"), image_url: text });

/** A map: the model chooses the word. */
const ACTION_FIELDS: ReadonlyMap<unknown, readonly string[]> = new Map([
  ["search", ["query"]],
  ["open_page", ["url"]],
  ["find_in_page", ["url", "pattern"]],
]);

const searchAction: Check = (value) =>
  isFields(value) && text(value["type"]) && (ACTION_FIELDS.get(value["type"]) ?? []).every((name) => orNull(text)(value[name]));

const shellAction = object({
  type: oneOf("exec"),
  command: listOf(text),
  timeout_ms: orNull(count),
  working_directory: orNull(text),
  env: orNull(tableOf(text)),
  user: orNull(text),
});

const snapshot = object({
  id: text,
  parent: orNull(text),
  preexisting_untracked_files: listOf(text),
  preexisting_untracked_dirs: listOf(text),
});

const SHAPES: ReadonlyMap<string, Shape> = new Map(
  Object.entries<Shape>({
    message: {
      id: orNull(text),
      role: text,
      content: listOf(either(inputText, inputImage, object({ type: oneOf("output_text"), text }))),
      end_turn: orNull((value) => typeof value === "boolean"),
    },
    reasoning: {
      id: orAbsent(text),
      summary: listOf(object({ type: oneOf("summary_text"), text })),
      content: orNull(listOf(object({ type: oneOf("reasoning_text", "text"), text }))),
      encrypted_content: orNull(text),
    },
    local_shell_call: {
      id: orNull(text),
      call_id: orNull(text),
      status: oneOf("completed", "in_progress", "incomplete"),
      action: shellAction,
    },
    function_call: { id: orNull(text), name: text, arguments: text, call_id: text },
    function_call_output: { call_id: text, output: either(text, listOf(either(inputText, inputImage))) },
    custom_tool_call: { id: orNull(text), status: orNull(text), name: text, input: text, call_id: text },
    custom_tool_call_output: { call_id: text, output: text },
    web_search_call: { id: orNull(text), status: orNull(text), action: orNull(searchAction) },
    compaction: { encrypted_content: text },
    compaction_summary: { encrypted_content: text },
    ghost_snapshot: { ghost_commit: snapshot },
  }),
);

function recordedSnapshot({ type, ghost_commit }: RawItem): RawItem {
  if (!isFields(ghost_commit)) return { type };
  const { id, parent = null, preexisting_untracked_files, preexisting_untracked_dirs } = ghost_commit;
  return { type, ghost_commit: { id, parent, preexisting_untracked_files, preexisting_untracked_dirs } };
}

function recordedSearch(raw: RawItem): RawItem {
  const { action, ...rest } = raw;
  return isFields(action) ? { ...raw, action: recordedAction(action) } : rest;
}

function recordedAction(action: Fields): Fields {
  const known = ACTION_FIELDS.get(action["type"]);
  if (!known) return { type: "other" };
  return Object.fromEntries(["type", ...known].filter((name) => name in action).map((name) => [name, action[name]]));
}
