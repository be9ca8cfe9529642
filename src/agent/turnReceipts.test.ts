import { describe, expect, it } from "vitest";
import { settingsIn } from "../../test/support/threads/rollouts.js";
import { threadIdOf, turnIdOf } from "../lib/ids.js";
import type { ThreadEvent } from "../threads/events.js";
import { Turn } from "../threads/turn.js";
import { NO_RATE_LIMITS } from "../threads/usage.js";
import { type ReceiptParts, TurnReceipts } from "./turnReceipts.js";

const STARTED: ThreadEvent = { type: "turnContext", settings: settingsIn("/project", { model: "m" }), sandboxBackend: "bubblewrap" };
const COMPLETED: ThreadEvent = { type: "turnCompleted", lastMessage: "done" };
const CHANGED = { from: "git", list: [{ path: "/project/x", kind: "add" }] } as const;

/** A turn with the receipt that the agent makes for it, and a record of the reads of its workspace. */
function observed({ looks = true, parts = {} }: { looks?: boolean; parts?: ReceiptParts } = {}) {
  const seen: unknown[] = [];
  const receipts = new TurnReceipts({
    lookAt: async ({ cwd, reach }) => {
      seen.push({ cwd, reach });
      return {
        before: async () => void seen.push("before"),
        after: async ({ withinMs }) => {
          seen.push({ after: withinMs });
          return CHANGED;
        },
      };
    },
    ...parts,
  });
  const told: string[] = [];
  const request = receipts.requestWith({
    watch:
      () =>
      ({ type }) =>
        void told.push(type),
    reach: undefined,
    looks,
  });
  const turn = new Turn(threadIdOf("t"), turnIdOf("0"), { text: "", ...request });
  turn.begin();
  return { turn, receipts, request, seen, told };
}

describe("what a turn changed on the disk", () => {
  it("is compared before its first change and after its end, once each", async () => {
    const { turn, receipts, request, seen, told } = observed();
    turn.publish([STARTED]);
    await request.beforeChanges?.();
    await request.beforeChanges?.();
    turn.publish([COMPLETED]);
    expect((await receipts.of(turn)).files).toEqual(CHANGED);
    expect((await receipts.of(turn)).files).toEqual(CHANGED);
    expect(seen).toEqual([{ cwd: "/project", reach: undefined }, "before", "before", { after: 2_000 }]);
    expect(told).toEqual(["turnContext", "turnCompleted"]);
  });

  it("is not compared for the first time after the turn's end", async () => {
    const { turn, receipts, request, seen } = observed();
    turn.publish([STARTED, COMPLETED]);
    await request.beforeChanges?.();
    expect([(await receipts.of(turn)).files, seen]).toEqual([{ from: "nothing", list: [] }, []]);
  });

  it("is skipped without changes, and without a caller that wants the receipt", async () => {
    const idle = observed();
    idle.turn.publish([STARTED, COMPLETED]);
    const unwanted = observed({ looks: false });
    unwanted.turn.publish([STARTED]);
    await unwanted.request.beforeChanges?.();
    unwanted.turn.publish([COMPLETED]);
    expect([(await idle.receipts.of(idle.turn)).files, idle.seen]).toEqual([{ from: "nothing", list: [] }, []]);
    expect([(await unwanted.receipts.of(unwanted.turn)).files, unwanted.seen]).toEqual([{ from: "patches", list: [] }, []]);
  });

  it("has a short time limit after an interrupted turn", async () => {
    const { turn, receipts, request, seen } = observed();
    turn.publish([STARTED]);
    await request.beforeChanges?.();
    turn.publish([{ type: "turnAborted", reason: "interrupted" }]);
    await receipts.of(turn);
    expect(seen.at(-1)).toEqual({ after: 500 });
  });

  it("is taken from the patches if the comparison fails", async () => {
    const { turn, receipts, request } = observed({ parts: { lookAt: () => Promise.reject(new Error("no code")) } });
    turn.publish([STARTED]);
    await request.beforeChanges?.();
    turn.publish([COMPLETED]);
    expect((await receipts.of(turn)).files).toEqual({ from: "patches", list: [] });
  });
});

it("the cost of a turn follows its model's prices; cached input costs less", async () => {
  const { turn, receipts } = observed({ parts: { prices: { m: { input: 2, cachedInput: 1, output: 10 } } } });
  const usage = {
    input_tokens: 3_000_000,
    cached_input_tokens: 1_000_000,
    output_tokens: 1_000_000,
    reasoning_output_tokens: 0,
    total_tokens: 4_000_000,
  };
  const info = { total_token_usage: usage, last_token_usage: usage, model_context_window: null };
  turn.publish([
    STARTED,
    { type: "messageDelta", itemId: "i", delta: "x" },
    { type: "tokenCount", usage: info, rateLimits: NO_RATE_LIMITS },
    COMPLETED,
  ]);
  expect((await receipts.of(turn)).costUsd).toBe(2 * 2 + 1 + 10);
});

it("a turn that was not observed has an empty receipt", async () => {
  const { receipts } = observed();
  const other = new Turn(threadIdOf("t"), turnIdOf("1"), { text: "" });
  expect(await receipts.of(other)).toMatchObject({ files: { from: "patches", list: [] }, commands: { run: 0 }, ms: 0 });
});
