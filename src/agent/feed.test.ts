import { describe, expect, it } from "vitest";
import { callerNamed, OwnToolsStage } from "../../test/support/memory/ownToolsStage.js";
import { turnIdOf } from "../lib/ids.js";
import type { Caller } from "./caller.js";
import type { FeedEntry, FeedGap } from "./feed.js";

const ALICE = callerNamed("alice");
const BOB = callerNamed("bob");
const OPERATOR = callerNamed("root", { scopes: ["call", "read", "operator"] });
const MAY_ONLY_CALL = callerNamed("alice", { scopes: ["call"] });

function ask(caller: Caller | undefined) {
  return { caller, signal: new AbortController().signal };
}

async function runTurn(stage: OwnToolsStage, caller: Caller | undefined, text = "one"): Promise<string> {
  const turn = await stage.agent.begin(ask(caller), { text }, { turnId: turnIdOf("1") });
  await turn.outcome;
  await stage.threads.settle();
  return turn.threadId;
}

/** Every entry that is available now. */
async function readAll(stage: OwnToolsStage, caller: Caller | undefined, after: string): Promise<(FeedEntry | FeedGap)[]> {
  const abort = new AbortController();
  const read: (FeedEntry | FeedGap)[] = [];
  const reading = (async () => {
    for await (const entry of stage.agent.feed.read(caller, { after, signal: abort.signal })) read.push(entry);
  })();
  await new Promise((resolve) => setImmediate(resolve));
  abort.abort();
  await reading;
  return read;
}

function typesIn(entries: readonly (FeedEntry | FeedGap)[]): string[] {
  return entries.map(({ type }) => type);
}

const TURN = ["threadOpened", "turnQueued", "turnBegun", "turnEnded"];

describe("events of threads", () => {
  it("are seen by their principal, by operators and by the server's own user, under the same numbers", async () => {
    await using stage = new OwnToolsStage();
    const begin = stage.agent.feed.start;
    await runTurn(stage, ALICE);
    await runTurn(stage, BOB);
    const [alice, bob, operator, user, none] = await Promise.all(
      [ALICE, BOB, OPERATOR, undefined, MAY_ONLY_CALL].map((caller) => readAll(stage, caller, begin)),
    );
    expect([alice, bob, operator, user, none].map((entries) => typesIn(entries ?? []))).toEqual([
      TURN,
      TURN,
      [...TURN, ...TURN],
      [...TURN, ...TURN],
      [],
    ]);
    expect(operator).toEqual([...(alice ?? []), ...(bob ?? [])]);
    expect(user?.map((entry) => ("number" in entry ? entry.number : 0))).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it("are reported as they happen, even to a waiting reader", async () => {
    await using stage = new OwnToolsStage();
    const abort = new AbortController();
    const reader = stage.agent.feed.read(ALICE, { signal: abort.signal })[Symbol.asyncIterator]();
    const first = reader.next();
    const threadId = await runTurn(stage, ALICE);
    expect((await first).value).toMatchObject({ type: "threadOpened", threadId, origin: "new", number: 1 });
    abort.abort();
    await reader.return(undefined);
  });

  it("continue after the last entry that a reader saw", async () => {
    await using stage = new OwnToolsStage();
    await runTurn(stage, ALICE);
    const all = await readAll(stage, ALICE, stage.agent.feed.start);
    const second = all[1];
    if (!second || !("cursor" in second)) throw new Error("no entry");
    expect(await readAll(stage, ALICE, second.cursor)).toEqual(all.slice(2));
  });

  it("begin with a gap after another server's cursor, followed by the kept entries", async () => {
    await using stage = new OwnToolsStage();
    await runTurn(stage, ALICE);
    for (const foreign of ["0a1b2c3d-2", "", "nonsense", `${stage.agent.feed.start.slice(0, -1)}99`])
      expect(typesIn(await readAll(stage, ALICE, foreign))).toEqual(["gap", ...TURN]);
  });

  it("end for their readers when the server ends, after the pending entries", async () => {
    await using stage = new OwnToolsStage();
    const begin = stage.agent.feed.start;
    await runTurn(stage, ALICE);
    stage.agent.feed.close();
    const read: string[] = [];
    for await (const { type } of stage.agent.feed.read(ALICE, { after: begin, signal: new AbortController().signal })) read.push(type);
    expect(read).toEqual(TURN);
  });
});
