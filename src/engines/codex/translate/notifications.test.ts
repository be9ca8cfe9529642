import { describe, expect, it } from "vitest";
import { contextOf, shownAs, type Told, translatorFor } from "../../../../test/support/codex/translatedTurn.js";
import { THREADLESS } from "../appServer/appServer.js";
import { ITEM_KINDS } from "./items.js";
import { NOTIFICATIONS, translationOf } from "./notifications.js";
import { ThreadMemory } from "./threadMemory.js";

const COUNTS = {
  inputTokens: 10,
  cachedInputTokens: 2,
  cacheWriteInputTokens: 1,
  outputTokens: 5,
  reasoningOutputTokens: 3,
  totalTokens: 15,
};
const USAGE = { input_tokens: 10, cached_input_tokens: 2, output_tokens: 5, reasoning_output_tokens: 3, total_tokens: 15 };
const COUNTED: Told = ["thread/tokenUsage/updated", { tokenUsage: { total: COUNTS, last: COUNTS, modelContextWindow: 258_400 } }];
const NO_LIMITS = { primary: null, secondary: null, credits: null, plan_type: null };

describe("the count of tokens", () => {
  it("comes with the limits that were reported before it", () => {
    const limits = {
      primary: { usedPercent: 12.5, windowDurationMins: 300, resetsAt: 1_800_000_000 },
      secondary: null,
      credits: { hasCredits: true, unlimited: false, balance: "9.50" },
      planType: "plus",
    };
    const usage = { total_token_usage: USAGE, last_token_usage: USAGE, model_context_window: 258_400 };
    expect(shownAs([COUNTED, ["account/rateLimits/updated", { rateLimits: limits }], COUNTED])).toEqual([
      { type: "tokenCount", usage, rateLimits: NO_LIMITS },
      {
        type: "tokenCount",
        usage,
        rateLimits: {
          primary: { used_percent: 12.5, window_minutes: 300, resets_at: 1_800_000_000 },
          secondary: null,
          credits: { has_credits: true, unlimited: false, balance: "9.50" },
          plan_type: "plus",
        },
      },
    ]);
  });

  it("gives the next turn the size of the context window", () => {
    const memory = new ThreadMemory();
    shownAs([COUNTED], { memory });
    expect(translatorFor({ memory }).notification("turn/started", {})).toEqual([
      { type: "turnStarted", contextWindow: 258_400 },
      contextOf(),
    ]);
  });
});

it("plan and diff are passed on in the words of 0.92.0", () => {
  const plan = [
    { step: "look", status: "completed" },
    { step: "edit", status: "inProgress" },
    { step: "test", status: "pending" },
  ];
  expect(
    shownAs([
      ["turn/plan/updated", { explanation: "first", plan }],
      ["turn/diff/updated", { diff: "diff --git" }],
      ["turn/diff/updated", { diff: "" }],
    ]),
  ).toEqual([
    {
      type: "planUpdated",
      explanation: "first",
      plan: [
        { step: "look", status: "completed" },
        { step: "edit", status: "in_progress" },
        { step: "test", status: "pending" },
      ],
    },
    { type: "turnDiff", unifiedDiff: "diff --git" },
  ]);
});

describe("the tokens of a reviewer", () => {
  const response = (totalTokens: number): Told => ["rawResponse/completed", { usage: { ...COUNTS, totalTokens } }];
  const reviewing: Told = ["item/completed", { item: { type: "enteredReviewMode", id: "r", review: "the changes" } }];
  const totals = (told: readonly Told[]) =>
    shownAs(told).flatMap((event) => {
      const { usage } = event.type === "tokenCount" ? event : {};
      return usage ? [[usage.last_token_usage.total_tokens, usage.total_token_usage.total_tokens]] : [];
    });

  it("are added up from its responses, beyond what the thread has used", () => {
    expect(totals([reviewing, response(20), response(30)])).toEqual([
      [20, 20],
      [30, 50],
    ]);
    const thread = COUNTS.totalTokens;
    expect(totals([COUNTED, reviewing, response(20)])).toEqual([
      [thread, thread],
      [20, thread + 20],
    ]);
  });

  it("are those of the thread outside of reviews, and none where the provider reports none", () => {
    expect(totals([response(20), COUNTED])).toHaveLength(1);
    expect(totals([reviewing, ["rawResponse/completed", { usage: null }]])).toEqual([]);
  });
});

describe("the start of MCP servers", () => {
  const status = (name: string, state: string, error: string | null = null): Told => [
    "mcpServer/startupStatus/updated",
    { name, status: state, error },
  ];

  it("is shown as it proceeds, and as a summary once all have started or failed", () => {
    const memory = new ThreadMemory();
    const failure = "MCP client for `b` failed to start: MCP startup failed: not found";
    for (const [method, params] of [status("a", "starting"), status("b", "starting"), status("a", "ready")])
      memory.betweenTurns(method, params);
    const translator = translatorFor({ memory });
    expect(translator.notification("turn/started", {})).toEqual([
      { type: "mcpStartupUpdated", server: "a", status: { state: "starting" } },
      { type: "mcpStartupUpdated", server: "b", status: { state: "starting" } },
      { type: "mcpStartupUpdated", server: "a", status: { state: "ready" } },
      { type: "turnStarted", contextWindow: null },
      contextOf(),
    ]);
    expect(translator.notification(...status("b", "failed", failure))).toEqual([
      { type: "mcpStartupUpdated", server: "b", status: { state: "failed", error: failure } },
      { type: "mcpStartupCompleted", ready: ["a"], failed: [{ server: "b", error: "not found" }], cancelled: [] },
    ]);
    expect(translator.notification(...status("b", "cancelled"))).toEqual([
      { type: "mcpStartupUpdated", server: "b", status: { state: "cancelled" } },
    ]);
  });

  it("is complete at once if there are none", () => {
    expect(translatorFor().notification("turn/started", {})).toEqual([
      { type: "mcpStartupCompleted", ready: [], failed: [], cancelled: [] },
      { type: "turnStarted", contextWindow: null },
      contextOf(),
    ]);
  });
});

/** The list in the schema of app-server 0.169.0. */
const LISTED = `
account/gatewayOAuth/changed account/login/completed account/rateLimits/updated account/updated app/list/updated
autoApprovalReview/strictReviewRequired command/exec/outputDelta configWarning deprecationNotice error
externalAgentConfig/import/completed externalAgentConfig/import/progress fs/changed fuzzyFileSearch/sessionCompleted
fuzzyFileSearch/sessionUpdated guardianWarning hook/completed hook/started item/agentMessage/delta
item/autoApprovalReview/completed item/autoApprovalReview/started item/commandExecution/outputDelta
item/commandExecution/terminalInteraction item/completed item/fileChange/outputDelta item/fileChange/patchUpdated
item/mcpToolCall/progress item/plan/delta item/reasoning/summaryPartAdded item/reasoning/summaryTextDelta item/reasoning/textDelta
item/started mcpServer/event/stream/notification mcpServer/oauthLogin/completed mcpServer/startupStatus/updated model/rerouted
model/safetyBuffering/updated model/verification modelProvider/authRecoveryCompleted modelProvider/authRecoveryStarted process/exited
process/outputDelta project/changed rawResponse/completed rawResponseItem/completed remoteControl/status/changed
serverRequest/resolved skills/changed thread/archived thread/attachment/updated thread/closed thread/compacted thread/deleted
thread/environment/connected thread/environment/disconnected thread/goal/cleared thread/goal/updated thread/name/updated
thread/prediction/updated thread/project/updated thread/queue/changed thread/readState/changed thread/realtime/closed
thread/realtime/error thread/realtime/item/completed thread/realtime/item/started thread/realtime/item/transcript/delta
thread/realtime/itemAdded thread/realtime/outputAudio/delta thread/realtime/sdp thread/realtime/started
thread/realtime/transcript/delta thread/realtime/transcript/done thread/reverted thread/section/changed thread/settings/updated thread/started
thread/status/changed thread/tokenUsage/updated thread/unarchived turn/completed turn/diff/updated turn/moderationMetadata
turn/plan/updated turn/started warning windows/worldWritableWarning windowsSandbox/setupCompleted
`
  .trim()
  .split(/\s+/);

it("every notification of the app-server is shown, or left out for a reason", () => {
  expect([...NOTIFICATIONS.keys()].sort()).toEqual(LISTED);
  expect(LISTED).toHaveLength(88);
  const unexplained = [...NOTIFICATIONS].filter(([, known]) => typeof known !== "function" && known.ignored === "");
  expect(unexplained).toEqual([]);
});

it("every kind of item is shown, or left out for a reason", () => {
  expect([...ITEM_KINDS.keys()].sort()).toEqual([
    "agentMessage",
    "collabAgentToolCall",
    "commandExecution",
    "contextCompaction",
    "dynamicToolCall",
    "enteredReviewMode",
    "exitedReviewMode",
    "fileChange",
    "functionCallOutput",
    "hookPrompt",
    "imageGeneration",
    "imageView",
    "mcpToolCall",
    "plan",
    "reasoning",
    "sleep",
    "subAgentActivity",
    "userMessage",
    "webSearch",
  ]);
});

it("every notification without a thread that reaches all threads is shown", () => {
  expect([...THREADLESS].filter((method) => translationOf(method) === undefined)).toEqual([]);
  expect(translationOf("thread/archived")).toBeUndefined();
  expect(translationOf("something/new")).toBeUndefined();
});
