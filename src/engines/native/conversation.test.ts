import { describe, expect, it } from "vitest";
import { settingsIn } from "../../../test/support/threads/rollouts.js";
import type { ThreadSettings } from "../../threads/settings.js";
import { RequestTemplate, Steering } from "./conversation.js";
import { BASE_INSTRUCTIONS } from "./instructions.js";
import { History, message } from "./model/items.js";
import { UPDATE_PLAN } from "./tools/declarations.js";

const ITEMS = [message("developer", "rules"), message("user", 'say "hi"')];

function bodyFor(changes: Partial<ThreadSettings>, tools = [UPDATE_PLAN]): Record<string, unknown> {
  const template = new RequestTemplate({ threadId: "t-1", settings: settingsIn("/repo", changes), tools });
  return JSON.parse(template.body(new History(ITEMS))) as Record<string, unknown>;
}

describe("the body of a model request", () => {
  it("for a known model requests encrypted reasoning, and that nothing is stored", () => {
    expect(bodyFor({ model: "gpt-6.1-sol" })).toEqual({
      model: "gpt-6.1-sol",
      instructions: BASE_INSTRUCTIONS,
      tools: [UPDATE_PLAN],
      tool_choice: "auto",
      parallel_tool_calls: true,
      reasoning: { effort: "low", summary: "auto" },
      include: ["reasoning.encrypted_content"],
      text: { verbosity: "low" },
      store: false,
      stream: true,
      prompt_cache_key: "t-1",
      input: ITEMS,
    });
  });

  it("without tools, as for a summary, does not ask for parallel calls", () => {
    expect(bodyFor({ model: "gpt-6.1-sol" }, [])).toMatchObject({ tools: [], parallel_tool_calls: false });
  });

  it("for an unknown model has the traits of the newest family, and no effort or verbosity unless they are chosen", () => {
    const body = bodyFor({ model: "mock-model" });
    expect([body["reasoning"], body["text"]]).toEqual([{ summary: "auto" }, undefined]);
    expect(bodyFor({ model: "mock-model", verbosity: "high", reasoningEffort: "high" })).toMatchObject({
      parallel_tool_calls: true,
      reasoning: { effort: "high", summary: "auto" },
      include: ["reasoning.encrypted_content"],
      text: { verbosity: "high" },
    });
  });

  it("as recorded, for a model that Codex 0.92.0 did not know, is what that Codex sent", () => {
    const asked = { verbosity: "high", reasoningEffort: "high", baseInstructions: "BASE" } as const;
    expect(bodyFor({ model: "mock-model", asRecorded: true, ...asked })).toEqual({
      model: "mock-model",
      instructions: "BASE",
      tools: [UPDATE_PLAN],
      tool_choice: "auto",
      parallel_tool_calls: false,
      reasoning: null,
      include: [],
      store: false,
      stream: true,
      prompt_cache_key: "t-1",
      input: ITEMS,
    });
  });

  it.each<[Partial<ThreadSettings>, Record<string, unknown>]>([
    [
      { model: "gpt-5.2", verbosity: "low" },
      { text: { verbosity: "low" }, reasoning: { effort: "medium", summary: "auto" } },
    ],
    [{ model: "gpt-5.2-codex", verbosity: "low" }, { text: undefined }],
    [{ model: "gpt-5", reasoningEffort: "xhigh", reasoningSummary: "detailed" }, { reasoning: { effort: "xhigh", summary: "detailed" } }],
    [
      { model: "gpt-5", reasoningSummary: "none" },
      { reasoning: { effort: "medium" }, include: ["reasoning.encrypted_content"] },
    ],
    [{ model: "gpt-oss-20b" }, { reasoning: { summary: "auto" } }],
    [
      { model: "mock-model", supportsReasoningSummaries: true, reasoningEffort: "low" },
      { reasoning: { effort: "low", summary: "auto" }, include: ["reasoning.encrypted_content"] },
    ],
    [
      { model: "gpt-5", supportsReasoningSummaries: false },
      { reasoning: null, include: [] },
    ],
    [{ baseInstructions: "" }, { instructions: "" }],
  ])("combines the model's defaults with the settings %j", (changes, expected) => {
    const body = bodyFor(changes);
    expect(Object.fromEntries(Object.keys(expected).map((key) => [key, body[key]]))).toEqual(expected);
  });

  it("is the same whether the conversation is text or items, and is valid for an empty one", () => {
    const template = new RequestTemplate({ threadId: "t-1", settings: settingsIn("/"), tools: [] });
    expect(template.bodyOf(ITEMS)).toBe(template.body(new History(ITEMS)));
    expect(JSON.parse(template.bodyOf([]))).toMatchObject({ tools: [], input: [] });
  });
});

function opened(signal: AbortSignal = new AbortController().signal): Steering {
  const steering = new Steering();
  steering.open(signal);
  return steering;
}

describe("input to a running turn", () => {
  it("waits in order, and is taken once", () => {
    const steering = opened();
    expect([steering.add("one"), steering.add("two")]).toEqual([true, true]);
    expect([steering.take(), steering.take()]).toEqual([["one", "two"], []]);
    expect(steering.add("three")).toBe(true);
    expect(steering.take()).toEqual(["three"]);
  });

  it("keeps the turn running until it is taken", () => {
    const steering = opened();
    steering.add("one");
    expect(steering.closeIfNothingWaits()).toBe(false);
    expect(steering.take()).toEqual(["one"]);
    expect(steering.closeIfNothingWaits()).toBe(true);
    expect(steering.add("too late")).toBe(false);
  });

  it("is refused when sixteen others wait", () => {
    const steering = opened();
    expect(Array.from({ length: 17 }, (_, at) => steering.add(`${at}`)).indexOf(false)).toBe(16);
    expect(steering.take()).toHaveLength(16);
    expect(steering.add("room again")).toBe(true);
  });

  it("is refused if no turn runs, and while the turn is being stopped", () => {
    expect(new Steering().add("too early")).toBe(false);
    const abort = new AbortController();
    const steering = opened(abort.signal);
    abort.abort();
    expect(steering.add("too late")).toBe(false);
  });

  it("does not wait for another turn", () => {
    const steering = opened();
    steering.add("for this one");
    steering.close();
    steering.open(new AbortController().signal);
    expect(steering.take()).toEqual([]);
  });
});
