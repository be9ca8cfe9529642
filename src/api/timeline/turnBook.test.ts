import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, it } from "vitest";
import { ObedientEngine } from "../../../test/support/memory/memoryThreads.js";
import { callerNamed, OwnToolsStage } from "../../../test/support/memory/ownToolsStage.js";
import { turnIdOf } from "../../lib/ids.js";
import { TurnBook } from "./turnBook.js";

/** More than are kept. */
const MANY = 260;

it("a principal's ended turn is found, however many turns of another have ended since", async () => {
  const engine = new ObedientEngine();
  await using stage = new OwnToolsStage({ engine });
  const book = new TurnBook();
  void book.follow(stage.agent);
  const run = async (name: string) => {
    const ask = { caller: callerNamed(name), signal: new AbortController().signal };
    const turn = await stage.agent.begin(ask, { text: "hold" }, { turnId: turnIdOf("1") });
    // The book has the turn after one turn of the event loop.
    await nextTurn();
    engine.letGo();
    await turn.outcome;
    return turn;
  };
  const bobs = await run("bob");
  const first = await run("alice");
  for (let at = 0; at < MANY; at++) await run("alice");
  expect([bobs, first].map(({ threadId, key }) => book.find(threadId, key) !== undefined)).toEqual([true, false]);
  book.close();
});
