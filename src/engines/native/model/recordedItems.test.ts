import { describe, expect, it } from "vitest";
import type { RawItem } from "../../../threads/items.js";
import { recordedItem } from "./recordedItems.js";

const EXEC = { type: "exec", command: ["ls"] };

/** Each pair was recorded from Codex 0.92.0. */
describe("an item as Codex 0.92.0 read it", () => {
  it.each<[string, RawItem, RawItem | undefined]>([
    ["a kind that it did not know", { type: "mystery", foo: 1 }, { type: "other" }],
    ["a kind that objects have", { type: "constructor" }, { type: "other" }],
    [
      "a search of such a kind",
      { type: "web_search_call", action: { type: "constructor" } },
      { type: "web_search_call", action: { type: "other" } },
    ],
    ["a call without arguments", { type: "function_call", call_id: "c", name: "shell" }, undefined],
    ["a call with arguments that are no text", { type: "function_call", call_id: "c", name: "shell", arguments: {} }, undefined],
    ["a call without an id", { type: "function_call", name: "shell", arguments: "{}" }, undefined],
    ["a refusal", { type: "message", role: "assistant", content: [{ type: "refusal", refusal: "no" }] }, undefined],
    [
      "an output",
      { type: "function_call_output", call_id: "c", output: "x", status: "completed" },
      { type: "function_call_output", call_id: "c", output: "x" },
    ],
    ["a summary", { type: "compaction", encrypted_content: "x", status: "completed" }, { type: "compaction", encrypted_content: "x" }],
    [
      "a summary under its older name",
      { type: "compaction_summary", encrypted_content: "x" },
      { type: "compaction", encrypted_content: "x" },
    ],
    ["a call whose id is a number", { type: "function_call", id: 3, call_id: "c", name: "shell", arguments: "{}" }, undefined],
    ["a message whose id is a number", { type: "message", id: 3, role: "assistant", content: [] }, undefined],
    ["an output that is a number", { type: "function_call_output", call_id: "c", output: 3 }, undefined],
    ["an output without its text", { type: "function_call_output", call_id: "c" }, undefined],
    ["an output of a free call in parts", { type: "custom_tool_call_output", call_id: "c", output: [] }, undefined],
    ["a command without an action", { type: "local_shell_call", call_id: "c", status: "completed" }, undefined],
    ["a command with an unknown status", { type: "local_shell_call", call_id: "c", status: "x", action: EXEC }, undefined],
    ["an action that is no command", { type: "local_shell_call", status: "completed", action: { ...EXEC, type: "run" } }, undefined],
    ["a command in one text", { type: "local_shell_call", status: "completed", action: { ...EXEC, command: "ls" } }, undefined],
    ["a time limit that is a text", { type: "local_shell_call", status: "completed", action: { ...EXEC, timeout_ms: "x" } }, undefined],
    ["a search with a status that is a number", { type: "web_search_call", status: 3 }, undefined],
    ["a search for a number", { type: "web_search_call", action: { type: "search", query: 3 } }, undefined],
    ["a search whose action is a word", { type: "web_search_call", action: "search" }, undefined],
    ["reasoning without a summary", { type: "reasoning", id: "r", encrypted_content: "x" }, undefined],
    ["reasoning whose summary is of another kind", { type: "reasoning", summary: [{ type: "text", text: "a" }] }, undefined],
    ["reasoning with content of another kind", { type: "reasoning", summary: [], content: [{ type: "image", text: "a" }] }, undefined],
    ["reasoning whose content is a text", { type: "reasoning", summary: [], content: "a" }, undefined],
    [
      "a snapshot with unknown fields",
      { type: "ghost_snapshot", ghost_commit: { id: "x", preexisting_untracked_files: ["a"], preexisting_untracked_dirs: [], more: 1 } },
      {
        type: "ghost_snapshot",
        ghost_commit: { id: "x", parent: null, preexisting_untracked_files: ["a"], preexisting_untracked_dirs: [] },
      },
    ],
    ["a snapshot without its commit", { type: "ghost_snapshot" }, undefined],
    ["a snapshot without its lists", { type: "ghost_snapshot", ghost_commit: { id: "x" } }, undefined],
    [
      "a snapshot whose parent is a number",
      { type: "ghost_snapshot", ghost_commit: { id: "x", parent: 3, preexisting_untracked_files: [], preexisting_untracked_dirs: [] } },
      undefined,
    ],
    [
      "a search of another kind",
      { type: "web_search_call", action: { type: "dream" } },
      { type: "web_search_call", action: { type: "other" } },
    ],
    ["a search whose action is null", { type: "web_search_call", id: "w", action: null }, { type: "web_search_call", id: "w" }],
    [
      "several queries",
      { type: "web_search_call", id: "w", action: { type: "search", queries: ["a", "b"] } },
      { type: "web_search_call", id: "w", action: { type: "search" } },
    ],
  ])("%s", (_, given, read) => {
    expect(recordedItem(given)).toEqual(read);
  });

  it.each<RawItem>([
    { type: "message", role: "assistant", content: [{ type: "output_text", text: "a" }] },
    { type: "function_call", call_id: "c", name: "shell", arguments: "{}" },
    { type: "custom_tool_call", call_id: "c", name: "apply_patch", input: "" },
    { type: "reasoning", summary: [] },
    { type: "reasoning", summary: [{ type: "summary_text", text: "a" }] },
    { type: "reasoning", summary: [], content: [{ type: "text", text: "a" }] },
    { type: "reasoning", summary: [], content: null },
    {
      type: "ghost_snapshot",
      ghost_commit: { id: "abc", parent: null, preexisting_untracked_files: [], preexisting_untracked_dirs: ["d"] },
    },
    { type: "local_shell_call", status: "completed", action: { ...EXEC, timeout_ms: null, env: { A: "b" } } },
    { type: "function_call_output", call_id: "c", output: [{ type: "input_text", text: "a" }] },
    { type: "web_search_call", id: "w", action: { type: "search", query: null } },
    { type: "web_search_call", id: "w", action: { type: "find_in_page", url: "u", pattern: "p" } },
  ])("stays as it came: $type", (item) => {
    expect(recordedItem(item)).toEqual(item);
  });
});
