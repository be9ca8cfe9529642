import { describe, expect, it } from "vitest";
import { conversationWith, drain } from "../../../../test/support/conversations.js";
import { call, calls, PlannedModel, says } from "../../../../test/support/modelDouble.js";
import { turnContext } from "../../../../test/support/turns.js";
import type { ThreadEvent } from "../../../threads/events.js";
import { runTurn } from "../turn.js";

/** What a call with these arguments shows to readers, and what the model gets for it. */
async function update(args: string): Promise<{ shown: ThreadEvent[]; output: unknown }> {
  const model = new PlannedModel(calls(call("update_plan", args)), says("ok"));
  const { events } = await drain(runTurn(conversationWith(model), { text: "go" }, turnContext()));
  return { shown: events.filter(({ type }) => type === "planUpdated"), output: model.requests[1]?.input.at(-1)?.["output"] };
}

describe("update_plan", () => {
  it("shows the plan", async () => {
    const plan = [
      { step: "look", status: "completed" },
      { step: "act", status: "in_progress" },
      { step: "rest", status: "pending" },
    ];
    expect(await update(JSON.stringify({ explanation: "why not", plan }))).toEqual({
      shown: [{ type: "planUpdated", explanation: "why not", plan }],
      output: "Plan updated",
    });
  });

  it.each([{ plan: [] }, { plan: [], explanation: null }])("needs no explanation: %j", async (args) => {
    expect(await update(JSON.stringify(args))).toEqual({
      shown: [{ type: "planUpdated", explanation: null, plan: [] }],
      output: "Plan updated",
    });
  });

  it.each([
    ["", /^failed to parse function arguments: Unexpected end/],
    ["{", /^failed to parse function arguments: /],
    ["[]", /^failed to parse function arguments: /],
    ["{}", /: missing field `plan`$/],
    ['{"plan":[{"step":"a","status":"someday"}]}', /: unknown variant `someday`, expected one of .* in `plan.0.status`$/],
    ['{"plan":[{"status":"pending"}]}', /: missing field `plan.0.step`$/],
  ])("answers broken arguments, and shows nothing: %s", async (args, output) => {
    expect(await update(args)).toEqual({ shown: [], output: expect.stringMatching(output) });
  });
});
