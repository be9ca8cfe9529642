import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { CONTEXT, conversationWith } from "../../../test/support/clients/conversations.js";
import { openToolStage } from "../../../test/support/memory/toolStage.js";
import { accepted, assistant, call, calls, completed, done, PlannedModel, says, usageOf } from "../../../test/support/model/modelDouble.js";
import { historyOf, turnContext, typesOf } from "../../../test/support/threads/turns.js";
import type { ReviewTarget, ThreadEvent } from "../../threads/events.js";
import type { RawItem } from "../../threads/items.js";
import type { Conversation } from "./conversation.js";
import { ModelFailure } from "./model/client.js";
import { message } from "./model/items.js";
import { reviewHint, reviewPrompt } from "./review.js";
import { runTurn } from "./turn.js";

const TARGET: ReviewTarget = { type: "custom", instructions: "Look at it." };
const REQUEST = message("user", "Review: Look at it.");
const PLAN = JSON.stringify({ plan: [{ step: "look", status: "in_progress" }] });

async function play(conversation: Conversation, stopAt: (event: ThreadEvent) => boolean = () => false): Promise<ThreadEvent[]> {
  const abort = new AbortController();
  const events: ThreadEvent[] = [];
  for await (const batch of runTurn(conversation, { text: "", work: { kind: "review", target: TARGET } }, turnContext(abort.signal))) {
    events.push(...batch);
    if (batch.some(stopAt)) abort.abort(new Error("stopped"));
  }
  return events;
}

async function reply(conversation: Conversation): Promise<void> {
  for await (const _ of runTurn(conversation, { text: "go on" }, turnContext()));
}

/** The items of the conversation after its initial context. */
function remembered(conversation: Conversation): RawItem[] {
  return conversation.history.items().slice(CONTEXT.length);
}

function verdict(text: string): RawItem {
  return { type: "message", role: "assistant", content: [{ type: "output_text", text }] };
}

describe("a review", () => {
  it("is a separate conversation; the thread keeps its request and result", async () => {
    const model = new PlannedModel(
      [accepted, done(assistant("let me see")), done(call("update_plan", PLAN, "c1")), completed()],
      says("Fine as it is."),
      says("ok"),
    );
    const conversation = conversationWith(model, { items: [...CONTEXT, message("user", "earlier")] });
    const events = await play(conversation);
    expect(typesOf(events)).toEqual([
      "turnStarted",
      "rawItem",
      "itemStarted",
      "itemCompleted",
      "reviewStarted",
      "turnContext",
      "tokenCount",
      "tokenCount",
      "planUpdated",
      "turnContext",
      "tokenCount",
      "tokenCount",
      "tokenCount",
      "rawItem",
      "reviewEnded",
      "turnCompleted",
    ]);
    expect(events.at(4)).toEqual({ type: "reviewStarted", target: TARGET, hint: "Look at it." });
    expect(events.slice(-2)).toEqual([
      { type: "reviewEnded", text: "Fine as it is." },
      { type: "turnCompleted", lastMessage: "Fine as it is." },
    ]);
    expect(model.requests[0]?.input).toEqual([...CONTEXT, message("user", expect.stringMatching(/\nLook at it\.$/))]);

    await reply(conversation);
    expect(model.requests[2]?.input).toEqual([
      ...CONTEXT,
      message("user", "earlier"),
      REQUEST,
      verdict("Fine as it is."),
      message("user", "go on"),
    ]);
    expect(historyOf(events, "/").items).toEqual([REQUEST, verdict("Fine as it is.")]);
  });

  it("adds its usage to the thread, and not its items", async () => {
    const conversation = conversationWith(new PlannedModel(says("hello", 100), says("Fine.", 700)), {
      settings: { contextWindow: 10_000 },
    });
    await reply(conversation);
    const events = await play(conversation);
    expect(conversation.size).toBe(100);
    expect(historyOf(events, "/").usage).toEqual({
      total_token_usage: usageOf(800),
      last_token_usage: usageOf(100),
      model_context_window: 9500,
    });
  });

  it("that grows too long is summarised by itself", async () => {
    const model = new PlannedModel(
      [accepted, done(call("update_plan", PLAN, "c1")), completed(950)],
      says("looked", 990),
      says("Fine.", 200),
    );
    const conversation = conversationWith(model, { settings: { contextWindow: 1000 } });
    const events = await play(conversation);
    expect(model.requests[2]?.input.at(-1)).toEqual(message("user", expect.stringMatching(/\nlooked$/)));
    expect(remembered(conversation)).toEqual([REQUEST, verdict("Fine.")]);
    expect(typesOf(events)).not.toContain("historyCompacted");
  });

  it("without a message of the reviewer says that there is no result", async () => {
    const events = await play(conversationWith(new PlannedModel([accepted, completed()])));
    expect(events.at(-1)).toEqual({ type: "turnCompleted", lastMessage: "The reviewer did not give a verdict." });
  });

  it("that is stopped has no result, and the thread records that it was stopped", async () => {
    const conversation = conversationWith(new PlannedModel([accepted, done(call("update_plan", PLAN, "c1")), "silence"]));
    const events = await play(conversation, ({ type }) => type === "tokenCount");
    expect(typesOf(events).slice(-3)).toEqual(["reviewEnded", "unseenItem", "turnAborted"]);
    expect(events.at(-3)).toEqual({ type: "reviewEnded", text: null });
    expect(remembered(conversation)).toEqual([REQUEST, message("user", expect.stringMatching(/^<turn_aborted>/))]);
  });

  it("that does not fit into the window fails, and says nothing about the thread's own length", async () => {
    const full = new ModelFailure("no room", { retry: "never", info: "context_window_exceeded" });
    const conversation = conversationWith(new PlannedModel([full]), { settings: { contextWindow: 1000 } });
    const events = await play(conversation);
    expect(events.filter(({ type }) => type === "reviewEnded" || type === "turnFailed")).toEqual([
      { type: "reviewEnded", text: null },
      { type: "turnFailed", message: "no room", info: "context_window_exceeded" },
    ]);
    expect(conversation.size).toBe(0);
  });

  it("changes no files, whichever way the reviewer tries; a reply may", async () => {
    const patch = (name: string) => `*** Begin Patch\n*** Add File: ${name}\n+x\n*** End Patch`;
    const custom = (name: string): RawItem => ({ type: "custom_tool_call", name: "apply_patch", input: patch(name), call_id: name });
    await using stage = await openToolStage({ settings: { approvalPolicy: "never", features: { apply_patch_freeform: true } } });
    const heredoc = ["bash", "-lc", `apply_patch <<'EOF'\n${patch("by-shell.txt")}\nEOF`];
    stage.model.plan(calls(custom("by-tool.txt")), calls(stage.call("shell", { command: heredoc })), says("Fine."));
    const events = await play(stage.conversation);
    const refusal = expect.stringMatching(/^patch rejected: a review changes no files/);
    expect(stage.model.requests.slice(1).map(({ input }) => input.at(-1)?.["output"])).toEqual([refusal, refusal]);
    expect(["by-tool.txt", "by-shell.txt"].filter((name) => existsSync(stage.path(name)))).toEqual([]);
    expect(typesOf(events)).not.toContain("patchStarted");
    await stage.play([custom("later.txt")]);
    expect(existsSync(stage.path("later.txt"))).toBe(true);
  });
});

describe("a reviewer", () => {
  it.each<[ReviewTarget, string, RegExp]>([
    [{ type: "uncommittedChanges" }, "the uncommitted changes", /git diff HEAD.*untracked files whole/s],
    [{ type: "baseBranch", branch: "main" }, "the changes against main", /git merge-base HEAD main/],
    [{ type: "commit", sha: "0123456789abcdef" }, "commit 0123456789ab", /git show 0123456789abcdef/],
    [{ type: "commit", sha: "0123456", title: "Mend it" }, "commit 0123456: Mend it", /`0123456` \(Mend it\)/],
    [{ type: "custom", instructions: "Only the\n  locking." }, "Only the locking.", /# What to review\nOnly the\n {2}locking\.$/],
  ])("names target and rules of the review: %j", (target, hint, task) => {
    expect(reviewHint(target)).toBe(hint);
    expect(reviewPrompt(target)).toMatch(task);
    expect(reviewPrompt(target)).toMatch(/^Review a change.*change no files.*file:FIRST-LAST.*say so in one sentence/s);
  });

  it("is announced in one line, however long its instructions are", () => {
    const hint = reviewHint({ type: "custom", instructions: `Look at ${"🎉".repeat(100)}\nclosely` });
    expect(hint).toMatch(/^Look at 🎉+…$/u);
    expect([...hint]).toHaveLength(80);
  });
});
