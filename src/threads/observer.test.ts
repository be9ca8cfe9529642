import { describe, expect, it } from "vitest";
import { MemoryStore, ObedientEngine } from "../../test/support/memory/memoryThreads.js";
import { settingsIn } from "../../test/support/threads/rollouts.js";
import { MemoryApprovalDesk } from "../approvals/desk.js";
import type { ApprovalSubject } from "../approvals/model.js";
import { newThreadId, turnIdOf } from "../lib/ids.js";
import type { Engine, EngineThread, TurnContext } from "./engine.js";
import type { ThreadEvent, TurnInput } from "./events.js";
import type { ObservedTurn, ThreadObserver } from "./observer.js";
import { ThreadRegistry } from "./threadRegistry.js";
import type { Turn } from "./turn.js";

const SETTINGS = settingsIn("/project");
const QUESTION: ApprovalSubject = {
  kind: "command",
  callId: "call-1",
  command: ["rm", "made.txt"],
  commandText: "rm made.txt",
  cwd: "/project",
  parsed: [],
  staysInSandbox: true,
  needsPerson: false,
};

/** Records each call; a turn is named by its prompt. */
function notes(): { readonly story: string[]; readonly observer: ThreadObserver } {
  const story: string[] = [];
  const named = ({ input }: ObservedTurn) => input.text;
  const observer: ThreadObserver = {
    threadOpened: ({ origin, settings }) => story.push(`${origin} thread in ${settings.cwd}`),
    turnQueued: (turn) => story.push(`${named(turn)}: queued`),
    turnBegun: (turn) => story.push(`${named(turn)}: begun`),
    questionAsked: (turn, { subject }) => story.push(`${named(turn)}: ${subject.kind} asked`),
    questionAnswered: (turn, { decision }) => story.push(`${named(turn)}: ${decision.kind}`),
    turnEnded: (turn, { status }) => story.push(`${named(turn)}: ${status} after ${turn.log.size} events`),
    threadClosed: () => story.push("closed"),
  };
  return { story, observer };
}

/** An engine that asks one question per turn. */
class AskingEngine implements Engine {
  readonly name = "scripted";

  async openThread(): Promise<EngineThread> {
    return { opening: [], run: (_input: TurnInput, ctx: TurnContext) => this.#run(ctx) };
  }

  async *#run({ ask }: TurnContext): AsyncGenerator<readonly ThreadEvent[]> {
    const { kind } = await ask(QUESTION);
    yield [{ type: "turnCompleted", lastMessage: kind }];
  }
}

class Scene implements AsyncDisposable {
  readonly desk = new MemoryApprovalDesk();
  readonly reported: string[] = [];
  readonly threads: ThreadRegistry;

  constructor(engine: Engine, observer: ThreadObserver) {
    const report = (line: string) => this.reported.push(line);
    const store = new MemoryStore();
    this.threads = new ThreadRegistry({ engine, store, desk: this.desk, settingsOf: () => SETTINGS, idleMs: 60_000, observer, report });
  }

  start(text: string): Promise<Turn> {
    return this.threads.start(SETTINGS, { text }, turnIdOf("call"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.threads.close();
  }
}

async function begun(turn: Turn): Promise<void> {
  for await (const _ of turn.log.read()) return;
}

describe("an observer of threads", () => {
  it("is notified once of each event, in order, even for a thread that is loaded from the store", async () => {
    const { story, observer } = notes();
    await using scene = new Scene(new ObedientEngine(), observer);
    const { threadId, outcome } = await scene.start("one");
    await outcome;
    await scene.threads.settle();
    scene.threads.unloadIdle(Number.POSITIVE_INFINITY);
    await (await scene.threads.reply(threadId, { text: "two" })).outcome;
    await scene.threads.close();
    expect(story).toEqual([
      "new thread in /project",
      "one: queued",
      "one: begun",
      "one: completed after 6 events",
      "closed",
      "stored thread in /project",
      "two: queued",
      "two: begun",
      "two: completed after 4 events",
      "closed",
    ]);
  });

  it("is notified of a question and of its answer", async () => {
    const { story, observer } = notes();
    await using scene = new Scene(new AskingEngine(), observer);
    const turn = await scene.start("ask");
    await begun(turn);
    await expect.poll(() => scene.desk.pending()).toHaveLength(1);
    for (const { id } of await scene.desk.pending()) await scene.desk.answer(id, { kind: "approved" });
    await turn.outcome;
    expect(story.slice(2)).toEqual(["ask: begun", "ask: command asked", "ask: approved", "ask: completed after 4 events"]);
  });

  it("is notified of an end without a beginning when a turn is interrupted in the queue", async () => {
    const { story, observer } = notes();
    await using scene = new Scene(new ObedientEngine(), observer);
    const turn = await scene.start("hang");
    await begun(turn);
    const waiting = await scene.threads.reply(turn.threadId, { text: "waits" });
    waiting.interrupt();
    scene.threads.interrupt(turn.threadId);
    await turn.outcome;
    expect(story.slice(2)).toEqual([
      "hang: begun",
      "waits: queued",
      "waits: interrupted after 1 events",
      "hang: interrupted after 5 events",
    ]);
  });

  it("that throws is reported and changes nothing", async () => {
    const broken = new Proxy({} as ThreadObserver, {
      get: (_, fact) => () => {
        throw new Error(`cannot note ${String(fact)}`);
      },
    });
    await using scene = new Scene(new ObedientEngine(), broken);
    const turn = await scene.start("one");
    expect(await turn.outcome).toEqual({ status: "completed", lastMessage: "re: one" });
    await scene.threads.close();
    expect(scene.reported).toEqual(
      ["threadOpened", "turnQueued", "turnBegun", "turnEnded", "threadClosed"].map(
        (fact) => `observer of threads failed on ${fact}: cannot note ${fact}`,
      ),
    );
  });
});

describe("one thread by its id", () => {
  it("is found while it is in memory, with its turns", async () => {
    await using scene = new Scene(new ObedientEngine(), notes().observer);
    const turn = await scene.start("hang");
    const waiting = await scene.threads.reply(turn.threadId, { text: "waits" });
    expect(scene.threads.find(turn.threadId)?.turns).toEqual([turn, waiting]);
    scene.threads.interrupt(turn.threadId);
    await scene.threads.settle();
    expect(scene.threads.find(turn.threadId)?.turns).toEqual([]);
    await scene.threads.close();
    expect([scene.threads.find(turn.threadId), scene.threads.find(newThreadId())]).toEqual([undefined, undefined]);
  });

  it("is interrupted alone", async () => {
    await using scene = new Scene(new ObedientEngine(), notes().observer);
    const [one, two] = [await scene.start("hang"), await scene.start("hang")];
    await Promise.all([one, two].map(begun));
    expect([scene.threads.interrupt(one.threadId), await one.outcome, two.ended]).toEqual([true, { status: "interrupted" }, false]);
    expect([scene.threads.interrupt(one.threadId), scene.threads.interrupt(newThreadId())]).toEqual([false, false]);
    scene.threads.interruptAll();
    await two.outcome;
  });
});
