import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import type { EngineThread } from "../../src/threads/engine.js";
import type { ReviewTarget, ThreadEvent, TurnInput } from "../../src/threads/events.js";
import type { Item } from "../../src/threads/items.js";
import type { ResponsesServer } from "../support/model/responsesServer.js";
import { runToEnd } from "../support/processes/runToEnd.js";
import { lastMessageOf, playTurn } from "../support/threads/turns.js";
import { type EngineUnderTest, endsOf, interruptAfter, openItems, openThread } from "./engine.js";

/** An engine whose model is the scripted one behind a server. */
export interface WorkUnderTest extends EngineUnderTest {
  readonly model: ResponsesServer;
}

export interface WorkContractOptions {
  readonly makeEngine: () => Promise<WorkUnderTest>;
  readonly timeoutMs?: number;
}

const COMPACT: TurnInput = { text: "", work: { kind: "compact" } };

/** The contract of every engine for summaries, reviews and steered turns. */
export function workContract(name: string, { makeEngine, timeoutMs = 20_000 }: WorkContractOptions): void {
  async function withThread(check: (thread: EngineThread, under: WorkUnderTest) => Promise<void>): Promise<void> {
    await using under = await makeEngine();
    await check(await openThread(under), under);
  }

  // The scripted model plays the newest script in its input, including for a summary.
  describe(`a summary by the ${name} engine`, { timeout: timeoutMs }, () => {
    it("replaces the history, once, and the thread continues", () =>
      withThread(async (thread) => {
        await playTurn(thread, "!say alpha");
        const events = await playTurn(thread, COMPACT);
        expect(endsOf(events)).toEqual(["turnCompleted"]);
        expect(lastMessageOf(events)).toBe(null);
        expect(openItems(events)).toEqual([]);
        expect(events.filter(({ type }) => type === "historyCompacted")).toHaveLength(1);
        expect(lastMessageOf(await playTurn(thread, "go on"))).toBe("alpha");
        expect(lastMessageOf(await playTurn(thread, "!say beta"))).toBe("beta");
      }));

    it("that is interrupted ends as interrupted, and leaves the thread usable", () =>
      withThread(async (thread) => {
        await interruptAfter(thread, "!hang", 1);
        const { events } = await interruptAfter(thread, COMPACT, 1);
        expect(endsOf(events)).toEqual(["turnAborted"]);
        expect(lastMessageOf(await playTurn(thread, "!say next"))).toBe("next");
      }));

    it("that fails says why, and leaves the thread usable", () =>
      withThread(async (thread) => {
        await playTurn(thread, "!status 400");
        const events = await playTurn(thread, COMPACT);
        expect(endsOf(events)).toEqual(["turnFailed"]);
        expect(events.at(-1)).toMatchObject({ message: expect.stringMatching(/\S/) });
        expect(lastMessageOf(await playTurn(thread, "!say next"))).toBe("next");
      }));

    it("accepts no further input", () =>
      withThread(async (thread) => {
        await interruptAfter(thread, "!hang", 1);
        expect(await steerWhenBegun(thread, COMPACT)).toBe(false);
      }));
  });

  describe(`a review by the ${name} engine`, { timeout: timeoutMs }, () => {
    it.each<ReviewTarget>([
      { type: "uncommittedChanges" },
      { type: "baseBranch", branch: "main" },
      { type: "commit", sha: "HEAD", title: "first" },
      { type: "custom", instructions: "!say looks good" },
    ])("reports its target, then its result, and ends with that: $type", (target) =>
      withThread(async (thread, { settings }) => {
        await makeRepository(settings.cwd);
        const events = await playTurn(thread, reviewOf(target));
        const text = target.type === "custom" ? "looks good" : "hello";
        expect(endsOf(events)).toEqual(["turnCompleted"]);
        expect(openItems(events)).toEqual([]);
        expect(reviewEvents(events)).toEqual([
          { type: "reviewStarted", target, hint: expect.stringMatching(/\S/) },
          { type: "reviewEnded", text },
        ]);
        expect(lastMessageOf(events)).toBe(text);
      }),
    );

    it("shows the reviewer's actions, and its messages only as the result", () =>
      withThread(async (thread) => {
        const events = await playTurn(thread, reviewOf({ type: "custom", instructions: "!shell echo seen\n!say looks good" }));
        expect(events.filter(({ type }) => type === "commandEnded")).toEqual([expect.objectContaining({ stdout: "seen\n", exitCode: 0 })]);
        expect(completedItems(events).filter(({ kind }) => kind === "agentMessage")).toEqual([]);
        expect(events.filter(({ type }) => type === "messageDelta")).toEqual([]);
        expect(lastMessageOf(events)).toBe("looks good");
      }));

    it("is part of the history of later replies", () =>
      withThread(async (thread, { model }) => {
        await playTurn(thread, reviewOf({ type: "custom", instructions: "!say one\\ntwo" }));
        expect(lastMessageOf(await playTurn(thread, "!say noted"))).toBe("noted");
        expect(textsOf(model.requests.at(-1)?.body.input)).toContainEqual(expect.stringContaining("one\ntwo"));
      }));

    it("that is interrupted has no result, and leaves the thread usable", () =>
      withThread(async (thread) => {
        const { events } = await interruptAfter(thread, reviewOf({ type: "custom", instructions: "!hang" }), 1);
        expect(endsOf(events)).toEqual(["turnAborted"]);
        expect(reviewEvents(events).slice(1)).toEqual(reviewEvents(events).length === 0 ? [] : [{ type: "reviewEnded", text: null }]);
        expect(lastMessageOf(await playTurn(thread, "!say next"))).toBe("next");
      }));

    it("that is interrupted while a command runs leaves the thread usable", () =>
      withThread(async (thread) => {
        const asked = reviewOf({ type: "custom", instructions: "!shell sleep 300" });
        const events = await interruptAt(thread, asked, ({ type }) => type === "commandStarted");
        expect(endsOf(events)).toEqual(["turnAborted"]);
        expect(reviewEvents(events).at(-1)).toEqual({ type: "reviewEnded", text: null });
        expect(lastMessageOf(await playTurn(thread, "!say next"))).toBe("next");
      }));

    it("whose model fails ends once, and leaves the thread usable", () =>
      withThread(async (thread) => {
        const events = await playTurn(thread, reviewOf({ type: "custom", instructions: "!status 400" }));
        expect(endsOf(events)).toHaveLength(1);
        expect(reviewEvents(events).map(({ type }) => type)).toEqual(["reviewStarted", "reviewEnded"]);
        expect(lastMessageOf(await playTurn(thread, "!say next"))).toBe("next");
      }));

    it("accepts no further input", () =>
      withThread(async (thread) => {
        expect(await steerWhenBegun(thread, reviewOf({ type: "custom", instructions: "!hang" }))).toBe(false);
      }));
  });

  describe(`a steered turn of the ${name} engine`, { timeout: timeoutMs }, () => {
    it("passes the further input to the model or refuses it, at whichever step it comes", () =>
      withThread(async (thread) => {
        const prompt = "!think hm\n!plan look\n!slow 3 2";
        const wholeTurn = await playTurn(thread, prompt);
        for (let at = 1; at <= wholeTurn.length; at++) {
          const text = `!say steered ${at}`;
          const { events, taken } = await steerAfter(thread, prompt, { count: at, texts: [text] });
          expect(endsOf(events), `after ${at} events`).toEqual(["turnCompleted"]);
          expect(openItems(events), `after ${at} events`).toEqual([]);
          expect(saidByUser(events), `after ${at} events`).toEqual([prompt, ...taken]);
          expect(lastMessageOf(events), `after ${at} events`).toBe(taken.length > 0 ? `steered ${at}` : "w0 w1 w2 ");
        }
      }));

    it("continues with the further input although the model's answer was complete", () =>
      withThread(async (thread, { model }) => {
        const { events, taken } = await steerAfter(thread, "!slow 20 10", { count: 8, texts: ["!say after all"] });
        expect(taken).toEqual(["!say after all"]);
        expect(lastMessageOf(events)).toBe("after all");
        expect(model.requests).toHaveLength(2);
        expect(lastMessageOf(await playTurn(thread, "go on"))).toBe("after all");
      }));

    it("passes on everything it accepted, in order, however much comes together", () =>
      withThread(async (thread) => {
        const texts = Array.from({ length: 40 }, (_, at) => `!say number ${at}`);
        const { events, taken } = await steerAfter(thread, "!slow 20 10", { count: 8, texts });
        expect(taken.length).toBeGreaterThan(0);
        expect(saidByUser(events)).toEqual(["!slow 20 10", ...taken]);
        expect(`!say ${lastMessageOf(events)}`).toBe(taken.at(-1));
      }));

    it("can be interrupted, and the next turn works", () =>
      withThread(async (thread) => {
        const abort = new AbortController();
        let steered: Promise<boolean | undefined> | undefined;
        const events = await playTurn(thread, "!slow 1000 20", {
          signal: abort.signal,
          onBatch(batch) {
            if (steered || !batch.some(({ type }) => type === "messageDelta")) return;
            steered = Promise.resolve(thread.steer?.("!say never")).finally(() => abort.abort());
          },
        });
        expect(await steered).toBe(true);
        expect(endsOf(events)).toEqual(["turnAborted"]);
        expect(lastMessageOf(await playTurn(thread, "!say next"))).toBe("next");
      }));

    it("has to be running", () =>
      withThread(async (thread) => {
        expect(await thread.steer?.("!say too early")).toBe(false);
        await playTurn(thread, "!say alpha");
        expect(await thread.steer?.("!say too late")).toBe(false);
        expect(lastMessageOf(await playTurn(thread, "go on"))).toBe("alpha");
      }));
  });
}

function reviewOf(target: ReviewTarget): TurnInput {
  return { text: "", work: { kind: "review", target } };
}

function reviewEvents(events: readonly ThreadEvent[]): ThreadEvent[] {
  return events.filter(({ type }) => type === "reviewStarted" || type === "reviewEnded");
}

function completedItems(events: readonly ThreadEvent[]): Item[] {
  return events.flatMap((event) => (event.type === "itemCompleted" ? [event.item] : []));
}

function saidByUser(events: readonly ThreadEvent[]): string[] {
  return completedItems(events).flatMap((item) => (item.kind === "userMessage" ? [item.text] : []));
}

function textsOf(input: readonly unknown[] = []): string[] {
  return [...JSON.stringify(input).matchAll(/"text":("(?:[^"\\]|\\.)*")/g)].map(([, text = '""']) => String(JSON.parse(text)));
}

/** A turn that is stopped at the first event that matches. */
async function interruptAt(
  thread: EngineThread,
  asked: TurnInput,
  stopAt: (event: ThreadEvent) => boolean,
): Promise<readonly ThreadEvent[]> {
  const abort = new AbortController();
  return playTurn(thread, asked, {
    signal: abort.signal,
    onBatch: (batch) => {
      if (batch.some(stopAt)) abort.abort(new Error("interrupted by the test"));
    },
  });
}

/** Whether a running turn accepted further input. The turn is interrupted afterwards. */
async function steerWhenBegun(thread: EngineThread, asked: TurnInput): Promise<boolean | undefined> {
  const abort = new AbortController();
  let steered: Promise<boolean | undefined> | undefined;
  await playTurn(thread, asked, {
    signal: abort.signal,
    onBatch() {
      steered ??= Promise.resolve(thread.steer?.("!say never")).finally(() => abort.abort(new Error("interrupted by the test")));
    },
  });
  return steered;
}

interface Steered {
  readonly events: readonly ThreadEvent[];
  /** Which inputs the turn accepted. */
  readonly taken: readonly string[];
}

/** A turn that is steered with these texts after the given number of events. */
async function steerAfter(
  thread: EngineThread,
  prompt: string,
  { count, texts }: { readonly count: number; readonly texts: readonly string[] },
): Promise<Steered> {
  let seen = 0;
  let answers: Promise<(boolean | undefined)[]> | undefined;
  const events = await playTurn(thread, prompt, {
    onBatch(batch) {
      seen += batch.length;
      if (seen >= count) answers ??= Promise.all(texts.map(async (text) => thread.steer?.(text)));
    },
  });
  const taken = (await answers) ?? [];
  return { events, taken: texts.filter((_, at) => taken[at]) };
}

/** A commit on `main`, and a file that is not in it. */
async function makeRepository(folder: string): Promise<void> {
  const git = (...args: readonly string[]) =>
    runToEnd(["git", "-c", "user.name=test", "-c", "user.email=test@localhost", ...args], { cwd: folder });
  writeFileSync(path.join(folder, "kept.txt"), "one\n");
  for (const args of [
    ["init", "-b", "main"],
    ["add", "kept.txt"],
    ["commit", "-m", "first"],
  ])
    expect(await git(...args)).toMatchObject({ code: 0 });
  writeFileSync(path.join(folder, "new.txt"), "two\n");
}
