import { describe, expect, it } from "vitest";
import { CONTEXT, conversationWith } from "../../../test/support/clients/conversations.js";
import { accepted, assistant, call, calls, completed, done, PlannedModel, says } from "../../../test/support/model/modelDouble.js";
import { turnContext, typesOf } from "../../../test/support/threads/turns.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { RawItem } from "../../threads/items.js";
import type { Conversation } from "./conversation.js";
import { ModelFailure } from "./model/client.js";
import { message } from "./model/items.js";
import { runTurn } from "./turn.js";

const PLAN = JSON.stringify({ plan: [{ step: "look", status: "in_progress" }] });

/** Steers a turn with these texts at the first event that matches; `taken` tells whether the turn accepted them. */
async function speakAt(conversation: Conversation, at: (event: ThreadEvent) => boolean, ...texts: readonly string[]) {
  const events: ThreadEvent[] = [];
  let taken: boolean[] | undefined;
  for await (const batch of runTurn(conversation, { text: "go" }, turnContext())) {
    events.push(...batch);
    if (batch.some(at)) taken ??= texts.map((text) => conversation.steering.add(text));
  }
  return { events, taken };
}

function said(conversation: Conversation): RawItem[] {
  return conversation.history.items().slice(CONTEXT.length);
}

const isUserMessage = (event: ThreadEvent) => event.type === "itemCompleted" && event.item.kind === "userMessage";

describe("a message of the user while the model works", () => {
  it("is sent with the next request, each as a message of this turn", async () => {
    const model = new PlannedModel(calls(call("update_plan", PLAN, "c1")), says("as you wish"));
    const conversation = conversationWith(model);
    const { events, taken } = await speakAt(conversation, ({ type }) => type === "turnStarted", "rather this", "and that");
    expect(taken).toEqual([true, true]);
    expect(model.requests[0]?.input.slice(CONTEXT.length)).toEqual([
      message("user", "go"),
      message("user", "rather this"),
      message("user", "and that"),
    ]);
    expect(events.filter(isUserMessage)).toEqual(
      ["go", "rather this", "and that"].map((text) => ({
        type: "itemCompleted",
        item: { kind: "userMessage", id: expect.any(String), text },
      })),
    );
    expect(events.at(-1)).toEqual({ type: "turnCompleted", lastMessage: "as you wish" });
  });

  it("follows the results of the model's latest calls", async () => {
    const model = new PlannedModel(calls(call("update_plan", PLAN, "c1")), says("as you wish"));
    await speakAt(conversationWith(model), ({ type }) => type === "tokenCount", "rather this");
    expect(model.requests[1]?.input.slice(-2)).toEqual([
      { type: "function_call_output", call_id: "c1", output: "Plan updated" },
      message("user", "rather this"),
    ]);
  });

  it("makes the turn continue although the model had finished", async () => {
    const model = new PlannedModel(says("done"), says("as you wish"));
    const conversation = conversationWith(model);
    const isLastCount = (event: ThreadEvent) => event.type === "tokenCount" && event.usage !== null;
    const { events } = await speakAt(conversation, isLastCount, "one thing more");
    expect(events.at(-1)).toEqual({ type: "turnCompleted", lastMessage: "as you wish" });
    expect(said(conversation).map((item) => item["role"])).toEqual(["user", "assistant", "user", "assistant"]);
    expect(typesOf(events).filter((type) => type === "turnContext")).toHaveLength(2);
  });

  it("leaves the earlier answer as the last one if the model adds nothing", async () => {
    const model = new PlannedModel(says("done"), [accepted, completed()]);
    const conversation = conversationWith(model, { settings: { asRecorded: false } });
    const { events } = await speakAt(conversation, ({ type }) => type === "tokenCount", "thanks");
    expect(events.at(-1)).toEqual({ type: "turnCompleted", lastMessage: "done" });
  });

  it("is refused once the turn is over, however it ended", async () => {
    const model = new PlannedModel([accepted, done(assistant("half")), new ModelFailure("cut", { retry: "never" })], says("fine"));
    const conversation = conversationWith(model);
    const { events, taken } = await speakAt(conversation, ({ type }) => type === "turnFailed", "too late");
    expect([events.at(-1)?.type, taken]).toEqual(["turnFailed", [false]]);
    expect((await speakAt(conversation, ({ type }) => type === "turnCompleted", "too late")).taken).toEqual([false]);
    expect(conversation.steering.add("too late")).toBe(false);
  });
});
