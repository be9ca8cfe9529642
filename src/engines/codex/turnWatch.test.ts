import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { LateMessages, StallWatch } from "./turnWatch.js";

const LIMITS = { silenceMs: 10_000, repetitionMs: 4_000 };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function watch({ isExcused = (): boolean => false } = {}) {
  const told: string[] = [];
  let waits = 0;
  const callbacks = { isExcused, waiting: () => void waits++, stalled: (message: string) => void told.push(message) };
  const stallWatch = new StallWatch(LIMITS, callbacks);
  stallWatch.start();
  return { watch: stallWatch, told, waits: () => waits };
}

const complaint = (message: string) => ["error", { error: { message }, willRetry: true }] as const;

it("a silent turn has stalled, which is reported once", () => {
  const { told } = watch();
  vi.advanceTimersByTime(9_999);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(60_000);
  expect(told).toEqual(["Codex made no progress for 10 s, so the turn was ended."]);
});

it("an agent that waits for other agents stalls only if these stall too", () => {
  const { watch: stalls, told } = watch();
  stalls.observe("item/started", { item: { type: "collabAgentToolCall", id: "w1", tool: "wait" } });
  stalls.observe("item/started", { item: { type: "commandExecution", id: "c1" } });
  vi.advanceTimersByTime(30_000);
  expect(told).toEqual([]);
  stalls.observe("item/completed", { item: { type: "commandExecution", id: "c1" } });
  vi.advanceTimersByTime(10_000);
  expect(told).toHaveLength(1);
});

it("every event counts as progress", () => {
  const { watch: stalls, told } = watch();
  for (let round = 0; round < 5; round++) {
    vi.advanceTimersByTime(9_000);
    stalls.observe("item/agentMessage/delta", { delta: "x" });
  }
  expect(told).toEqual([]);
});

it("the same complaint again does not count as progress", () => {
  const { watch: stalls, told } = watch();
  for (let round = 0; round < 6 && told.length === 0; round++) {
    stalls.observe(...complaint("waiting for network"));
    vi.advanceTimersByTime(1_000);
  }
  expect(told).toEqual(["Codex made no progress for 4 s, so the turn was ended. It said last: waiting for network"]);
});

it("different complaints count, and so does any other event between two equal ones", () => {
  const { watch: stalls, told } = watch();
  for (let attempt = 1; attempt <= 5; attempt++) {
    stalls.observe(...complaint(`Reconnecting ${attempt}/5`));
    vi.advanceTimersByTime(5_000);
  }
  for (let round = 0; round < 3; round++) {
    stalls.observe(...complaint("dropped"));
    vi.advanceTimersByTime(3_000);
    stalls.observe("item/started", { item: { type: "agentMessage", id: "m" } });
    vi.advanceTimersByTime(3_000);
  }
  expect(told).toEqual([]);
});

it("a command may be silent for as long as it runs; the wait is reported", () => {
  const { watch: stalls, told, waits } = watch();
  stalls.observe("item/started", { item: { type: "commandExecution", id: "c" } });
  vi.advanceTimersByTime(35_000);
  expect([told, waits()]).toEqual([[], 3]);
  stalls.observe("item/completed", { item: { type: "commandExecution", id: "c" } });
  vi.advanceTimersByTime(10_000);
  expect(told).toHaveLength(1);
});

it("a turn that waits for a decision has not stalled", () => {
  let asking = true;
  const { told } = watch({ isExcused: () => asking });
  vi.advanceTimersByTime(100_000);
  expect(told).toEqual([]);
  asking = false;
  vi.advanceTimersByTime(10_000);
  expect(told).toHaveLength(1);
});

it("once stopped, it reports nothing and leaves no timer", () => {
  const { watch: stalls, told } = watch();
  stalls.stop();
  expect(vi.getTimerCount()).toBe(0);
  vi.advanceTimersByTime(100_000);
  expect(told).toEqual([]);
});

type Told = readonly [method: string, params: unknown];

const USER: Told = ["item/started", { item: { type: "userMessage" } }];
const MODEL: Told = ["item/started", { item: { type: "agentMessage" } }];
const ASKED: Told = ["thread/tokenUsage/updated", {}];

function lateMessagesAfter(told: readonly Told[]): LateMessages {
  const lateMessages = new LateMessages();
  for (const [method, params] of told) lateMessages.observe(method, params);
  return lateMessages;
}

it.each<[string, readonly Told[], boolean]>([
  ["nothing was said", [], false],
  ["the model was never asked about the prompt itself", [USER], false],
  ["the model answered", [USER, MODEL, ASKED], false],
  ["the user said something more, and then the turn ended", [USER, MODEL, ASKED, USER, ["item/completed", {}]], true],
  ["the model answered that too", [USER, MODEL, ASKED, USER, MODEL], false],
  ["the model was asked about it and said nothing", [USER, MODEL, ASKED, USER, ASKED], false],
])("the user has the last word unanswered only when the model was not asked about it: %s", (_when, told, isUnanswered) => {
  expect(lateMessagesAfter(told).takeUnanswered()).toBe(isUnanswered);
});

it("it is requested once", () => {
  const lateMessages = lateMessagesAfter([USER, MODEL, USER]);
  expect([lateMessages.takeUnanswered(), lateMessages.takeUnanswered()]).toEqual([true, false]);
});
