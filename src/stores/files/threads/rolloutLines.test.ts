import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { message, settingsIn, tempHome } from "../../../../test/support/threads/rollouts.js";
import { newThreadId, newTurnKey } from "../../../lib/ids.js";
import type { ThreadEvent } from "../../../threads/events.js";
import type { Reach } from "../../../threads/limits.js";
import type { RateLimits, TokenUsageInfo } from "../../../threads/usage.js";
import { rolloutLines, sessionMetaLine } from "./rolloutLines.js";

const AT = new Date("2026-01-27T10:32:31.120Z");
const TURN = newTurnKey();

function linesFor(...events: ThreadEvent[]): unknown[] {
  return rolloutLines(events, { threadId: newThreadId(), turnKey: TURN, ranMs: 1_500.4, at: AT })
    .split("\n")
    .slice(0, -1)
    .map((text) => JSON.parse(text));
}

function line(type: string, payload: unknown): unknown {
  return { timestamp: "2026-01-27T10:32:31.120Z", type, payload };
}

it("an item is kept exactly as received, with its id and unknown fields", () => {
  const item = {
    type: "message",
    id: "msg_1",
    role: "assistant",
    content: [{ type: "output_text", text: "é\n", logprobs: [] }],
    novel: { a: 1 },
  };
  expect(rolloutLines([{ type: "rawItem", item }], { threadId: newThreadId(), turnKey: TURN, ranMs: 1_500.4, at: AT })).toBe(
    '{"timestamp":"2026-01-27T10:32:31.120Z","type":"response_item","payload":{"type":"message","id":"msg_1","role":"assistant",' +
      '"content":[{"type":"output_text","text":"é\\n","logprobs":[]}],"novel":{"a":1}}}\n',
  );
});

it("context, visible and hidden items are all items of the conversation", () => {
  const items = [message("developer", "rules"), message("user", "hello"), message("user", "note")] as const;
  const events: ThreadEvent[] = [
    { type: "contextItem", item: items[0] },
    { type: "rawItem", item: items[1] },
    { type: "unseenItem", item: items[2] },
  ];
  expect(linesFor(...events)).toEqual(items.map((item) => line("response_item", item)));
});

it("a user's message is an item, followed by an event", () => {
  const item = message("user", "Count to 5");
  expect(
    linesFor(
      { type: "rawItem", item },
      { type: "itemStarted", item: { kind: "userMessage", id: "1", text: "Count to 5" } },
      { type: "itemCompleted", item: { kind: "userMessage", id: "1", text: "Count to 5" } },
    ),
  ).toEqual([
    line("response_item", item),
    line("event_msg", { type: "user_message", message: "Count to 5", images: [], local_images: [], text_elements: [] }),
  ]);
});

it("messages and reasoning of the model are kept as events, one for each part", () => {
  expect(
    linesFor(
      { type: "itemCompleted", item: { kind: "reasoning", id: "r", summary: ["**Plan**", "**Do**"], rawContent: ["hm"], rawShown: true } },
      { type: "itemCompleted", item: { kind: "agentMessage", id: "m", texts: ["1 2 3"] } },
      { type: "itemCompleted", item: { kind: "webSearch", id: "w", query: "rust", action: { type: "search" } } },
    ),
  ).toEqual([
    line("event_msg", { type: "agent_reasoning", text: "**Plan**" }),
    line("event_msg", { type: "agent_reasoning", text: "**Do**" }),
    line("event_msg", { type: "agent_reasoning_raw_content", text: "hm" }),
    line("event_msg", { type: "agent_message", message: "1 2 3" }),
  ]);
});

it("a turn context has the model's settings, without those that are not set", () => {
  const policy = { cwd: "/repo", approval_policy: "on-request", sandbox_policy: { type: "read-only" }, model: "gpt-6.1-sol" };
  const truncation_policy = { mode: "tokens", limit: 10000 };
  const full = settingsIn("/repo", { reasoningEffort: "high", developerInstructions: "be brief" });
  expect(linesFor({ type: "turnContext", settings: settingsIn("/repo") }, { type: "turnContext", settings: full })).toEqual([
    line("turn_context", { ...policy, summary: "auto", truncation_policy }),
    line("turn_context", { ...policy, effort: "high", summary: "auto", developer_instructions: "be brief", truncation_policy }),
  ]);
});

it("a compaction is kept with the history that follows it, before its event", () => {
  const replacement = [message("user", "so far: nothing")];
  expect(linesFor({ type: "historyCompacted", message: "nothing", replacement })).toEqual([
    line("compacted", { message: "nothing", replacement_history: replacement }),
    line("event_msg", { type: "context_compacted" }),
  ]);
});

it("the start and the end of a turn are kept, a failure with its error", () => {
  const kept = linesFor(
    { type: "turnStarted", contextWindow: 258400 },
    { type: "turnCompleted", lastMessage: "done" },
    { type: "turnFailed", message: "no", info: "other" },
    { type: "turnAborted", reason: "interrupted" },
  );
  expect(kept).toEqual([
    line("event_msg", { type: "task_started", turn_id: TURN, model_context_window: 258400 }),
    line("event_msg", { type: "task_complete", turn_id: TURN, last_agent_message: "done", duration_ms: 1_500 }),
    line("event_msg", {
      type: "task_complete",
      turn_id: TURN,
      last_agent_message: null,
      error: { message: "no", codex_error_info: "other" },
      duration_ms: 1_500,
    }),
    line("event_msg", { type: "turn_aborted", turn_id: TURN, reason: "interrupted", duration_ms: 1_500 }),
  ]);
});

it("usage is kept", () => {
  const tokens = { input_tokens: 1, cached_input_tokens: 0, output_tokens: 2, reasoning_output_tokens: 0, total_tokens: 3 };
  const usage: TokenUsageInfo = { total_token_usage: tokens, last_token_usage: tokens, model_context_window: 258400 };
  const rateLimits: RateLimits = { primary: null, secondary: null, credits: null, plan_type: null };
  expect(linesFor({ type: "tokenCount", usage, rateLimits })).toEqual([
    line("event_msg", { type: "token_count", info: usage, rate_limits: rateLimits }),
  ]);
});

it("an event that can be rebuilt from the items leaves no line", () => {
  expect(
    linesFor(
      { type: "threadConfigured", threadId: newThreadId(), settings: settingsIn("/"), recordPath: undefined },
      { type: "deprecation", summary: "old" },
      { type: "mcpStartupCompleted", ready: [], failed: [], cancelled: [] },
      { type: "messageDelta", itemId: "m", delta: "1" },
      { type: "reasoningDelta", itemId: "r", summaryIndex: 0, delta: "1" },
      { type: "rawReasoningDelta", itemId: "r", contentIndex: 0, delta: "1" },
      { type: "reasoningSectionBreak", itemId: "r", summaryIndex: 0 },
      { type: "planUpdated", explanation: null, plan: [] },
      { type: "warning", message: "careful" },
      { type: "modelRetry", attempt: 1, limit: 5, cause: "cut" },
    ),
  ).toEqual([]);
});

describe("the first line", () => {
  function gitOf(cwd: string, reach?: Reach): unknown {
    const thread = { id: newThreadId(), settings: settingsIn(cwd), engine: "native", reach };
    return JSON.parse(sessionMetaLine(thread, { version: "1.2.3", env: {} }, new Date(0))).payload.git;
  }

  it("describes the repository, unless the caller may not read it or it belongs to another one", () => {
    using home = tempHome();
    const [root, git] = [path.join(home.path, "root"), path.join(home.path, ".git")];
    for (const folder of [root, git]) mkdirSync(folder);
    writeFileSync(path.join(git, "HEAD"), `${"a".repeat(40)}\n`);
    const told = { commit_hash: "a".repeat(40) };
    expect([gitOf(root), gitOf(root, { folders: undefined }), gitOf(root, { folders: [home.path] })]).toEqual([told, told, told]);
    expect([gitOf(root, { folders: [root] }), gitOf(root, { folders: undefined, foreign: [home.path] })]).toEqual([undefined, undefined]);
  });
});
