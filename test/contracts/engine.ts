import { describe, expect, it } from "vitest";
import { newThreadId } from "../../src/lib/ids.js";
import type { Engine, EngineThread } from "../../src/threads/engine.js";
import type { ThreadEvent, TurnInput } from "../../src/threads/events.js";
import type { Item } from "../../src/threads/items.js";
import { pairToolCalls } from "../../src/threads/items.js";
import type { ThreadSettings } from "../../src/threads/settings.js";
import { isTurnEnd } from "../../src/threads/turn.js";
import { historyOf, lastMessageOf, playTurn } from "../support/threads/turns.js";

/** An engine with the scripted model, and the settings of its threads. */
export interface EngineUnderTest extends AsyncDisposable {
  readonly engine: Engine;
  readonly settings: ThreadSettings;
  /** Absent: the engine accepts every prompt of these tests. */
  readonly longestPrompt?: number;
}

export interface ContractOptions {
  /** The engine that continues the threads of `before`, if the engine keeps its threads itself. */
  readonly makeEngine: (before?: EngineUnderTest) => Promise<EngineUnderTest>;
  readonly timeoutMs?: number;
}

/** The contract of every engine with `threads`. */
export function engineContract(name: string, { makeEngine, timeoutMs = 20_000 }: ContractOptions): void {
  async function withThread(check: (thread: EngineThread, under: EngineUnderTest) => Promise<void>): Promise<void> {
    await using under = await makeEngine();
    await check(await openThread(under), under);
  }

  describe(`a turn of the ${name} engine`, { timeout: timeoutMs }, () => {
    it.each([
      "!say two words",
      "!think it over\n!say two words",
      "!tokens 40",
      "!empty",
      "!plan look|act\n!say looked",
      "!think hm\n!call no_such_tool {}\n!plan look\n!say so",
      "!say line one\\nline two",
      "no script at all",
    ])("completes once, as the last thing, with all its items whole: %j", (prompt) =>
      withThread(async (thread) => {
        const events = await playTurn(thread, prompt);
        expect(endsOf(events)).toEqual(["turnCompleted"]);
        expect(openItems(events)).toEqual([]);
        expect(incoherentMessages(events)).toEqual([]);
      }),
    );

    it.each([
      "!status 400 {}",
      "!status 401",
      "!status 429",
      "!status 500",
      "!drop",
      "!fail context_length_exceeded too long",
      "!fail odd code",
    ])("that fails ends once, as the last thing, says why, and leaves the thread usable: %j", (prompt) =>
      withThread(async (thread) => {
        const failed = await playTurn(thread, prompt);
        expect(endsOf(failed)).toEqual(["turnFailed"]);
        expect(failed.at(-1)).toMatchObject({ message: expect.stringMatching(/\S/) });
        expect(lastMessageOf(await playTurn(thread, "!say fine again"))).toBe("fine again");
      }),
    );

    it("returns the model's last message", () =>
      withThread(async (thread) => {
        expect(lastMessageOf(await playTurn(thread, "!plan look\n!say the last word"))).toBe("the last word");
        expect(lastMessageOf(await playTurn(thread, "!empty"))).toBe(null);
      }));

    it("shows the prompt as the user's message", () =>
      withThread(async (thread) => {
        const shown = (await playTurn(thread, "!say x\nplease")).flatMap((event) => (event.type === "itemCompleted" ? [event.item] : []));
        expect(shown[0]).toEqual({ kind: "userMessage", id: expect.any(String), text: "!say x\nplease" });
      }));

    it("brings 5,000 deltas, complete and in order", () =>
      withThread(async (thread) => {
        const events = await playTurn(thread, "!tokens 5000");
        const text = lastMessageOf(events) ?? "";
        expect(events.filter(({ type }) => type === "messageDelta")).toHaveLength(5000);
        expect(incoherentMessages(events)).toEqual([]);
        expect(text.trim().split(/\s+/)).toHaveLength(5000);
      }));

    it("accepts a prompt of 5 MB or of the engine's limit, and so does the next turn", () =>
      withThread(async (thread, { longestPrompt }) => {
        const prompt = `!say read it\n${"lorem ipsum ".repeat(440_000)}`.slice(0, longestPrompt);
        const events = await playTurn(thread, prompt);
        expect(lastMessageOf(events)).toBe("read it");
        const [item] = events.flatMap((event) => (event.type === "itemCompleted" ? [event.item] : []));
        expect(item?.kind === "userMessage" && item.text === prompt).toBe(true);
        expect(lastMessageOf(await playTurn(thread, "go on"))).toBe("read it");
      }));
  });

  describe(`an interrupted turn of the ${name} engine`, { timeout: timeoutMs }, () => {
    it("ends as interrupted, wherever it is, and the next turn works", () =>
      withThread(async (thread) => {
        const prompt = "!think hm\n!plan look|act\n!slow 3 2\n";
        const wholeTurn = await playTurn(thread, prompt);
        for (let at = 1; at < wholeTurn.length; at++) {
          const interrupted = await interruptAfter(thread, prompt, at);
          expect(endsOf(interrupted.events), `after ${at} events`).toEqual(interrupted.tooLate ? ["turnCompleted"] : ["turnAborted"]);
          expect(lastMessageOf(await playTurn(thread, `!say again ${at}`))).toBe(`again ${at}`);
        }
      }));

    // Each of these answers takes longer than the limit of the test.
    it.each(["!hang", "!delay 3600000\n!say late", "!slow 1000 1000", "!plan look\n!hang"])("does not wait for the model: %j", (prompt) =>
      withThread(async (thread) => {
        const abort = new AbortController();
        const stopping = setTimeout(() => abort.abort(), 50);
        const events = await playTurn(thread, prompt, { signal: abort.signal });
        clearTimeout(stopping);
        expect(endsOf(events)).toEqual(["turnAborted"]);
        expect(lastMessageOf(await playTurn(thread, "!say next"))).toBe("next");
      }),
    );

    it("can be interrupted before it begins", () =>
      withThread(async (thread) => {
        expect(endsOf(await playTurn(thread, "!say never", { signal: AbortSignal.abort() }))).toEqual(["turnAborted"]);
        expect(lastMessageOf(await playTurn(thread, "!say next"))).toBe("next");
      }));

    it("leaves a history that a model accepts: every call has its output", () =>
      withThread(async (thread, { settings }) => {
        const prompt = "!plan look\n!plan act\n!say x";
        const wholeTurn = await playTurn(thread, prompt);
        for (let at = 1; at < wholeTurn.length; at++) {
          const { items } = historyOf((await interruptAfter(thread, prompt, at)).events, settings.cwd);
          expect(pairToolCalls(items), `after ${at} events`).toEqual(items);
        }
      }));
  });

  // The scripted model plays the newest script in its input: a prompt without one repeats the earlier script, if the history has it.
  describe(`a thread of the ${name} engine`, { timeout: timeoutMs }, () => {
    it("opens without ending anything", () =>
      withThread(async (thread) => {
        expect(thread.opening.filter(isTurnEnd)).toEqual([]);
      }));

    it("remembers earlier turns", () =>
      withThread(async (thread) => {
        expect(lastMessageOf(await playTurn(thread, "go on"))).toBe("hello");
        await playTurn(thread, "!say alpha");
        expect(lastMessageOf(await playTurn(thread, "go on"))).toBe("alpha");
        expect(lastMessageOf(await playTurn(thread, "go on"))).toBe("alpha");
      }));

    it.each([
      ["a turn that completed", "!think hm\n!plan look\n!say alpha", "turnCompleted"],
      ["a turn that failed", "!say alpha", "turnFailed"],
      ["a turn that was interrupted", "!say alpha", "turnAborted"],
    ])("continues from its record, after %s", (_what, prompt, end) =>
      withThread(async (_unused, under) => {
        const proposed = newThreadId();
        const { settings } = under;
        const first = await under.engine.openThread({ id: proposed, settings });
        const recorded = [...first.opening, ...(await playTurn(first, prompt))];
        if (end === "turnFailed") recorded.push(...(await playTurn(first, "!status 400\n!say alpha")));
        if (end === "turnAborted") recorded.push(...(await interruptAfter(first, "go on", 1)).events);
        expect(recorded.at(-1)?.type).toBe(end);

        const { id } = first.kept ?? { id: proposed };
        if (first.kept) await under.engine.close?.();
        await using other = await makeEngine(under);
        const history = historyOf(recorded, settings.cwd);
        const reopened = await other.engine.openThread({ id, settings: other.settings, history });
        expect(lastMessageOf(await playTurn(reopened, "!say beta"))).toBe("beta");
        expect(lastMessageOf(await playTurn(reopened, "go on"))).toBe("beta");
      }),
    );

    it("has its earlier messages when it is reopened", () =>
      withThread(async (first, { engine, settings }) => {
        const recorded = [...first.opening, ...(await playTurn(first, "!say alpha"))];
        const { id } = first.kept ?? { id: newThreadId() };
        const reopened = await engine.openThread({ id, settings, history: historyOf(recorded, settings.cwd) });
        expect(lastMessageOf(await playTurn(reopened, "go on"))).toBe("alpha");
      }));

    it("neither mixes with another thread nor waits for it", () =>
      withThread(async (one, under) => {
        const two = await openThread(under);
        const both = await Promise.all([playTurn(one, "!slow 20 2\n"), playTurn(two, "!say two")]);
        expect(both.map(endsOf)).toEqual([["turnCompleted"], ["turnCompleted"]]);
        await Promise.all([playTurn(one, "!say one"), playTurn(two, "!status 400")]);
        await playTurn(two, "!say two");
        const after = await Promise.all([playTurn(one, "go on"), playTurn(two, "go on")]);
        expect(after.map(lastMessageOf)).toEqual(["one", "two"]);
      }));

    it("can have 200 turns", () =>
      withThread(async (thread) => {
        for (let turn = 1; turn <= 200; turn++) expect(lastMessageOf(await playTurn(thread, `!say turn ${turn}`))).toBe(`turn ${turn}`);
      }));
  });
}

export function openThread({ engine, settings }: EngineUnderTest): Promise<EngineThread> {
  return engine.openThread({ id: newThreadId(), settings });
}

interface Interrupted {
  readonly events: readonly ThreadEvent[];
  /** The turn ended with the event to stop at, or before it. */
  readonly tooLate: boolean;
}

export async function interruptAfter(thread: EngineThread, asked: string | TurnInput, count: number): Promise<Interrupted> {
  const abort = new AbortController();
  let seen = 0;
  let tooLate = true;
  const events = await playTurn(thread, asked, {
    signal: abort.signal,
    onBatch(batch) {
      seen += batch.length;
      if (seen < count || abort.signal.aborted) return;
      tooLate = batch.some(isTurnEnd);
      abort.abort(new Error("interrupted by the test"));
    },
  });
  return { events, tooLate };
}

/** The end events; if an event followed the end, it is last. */
export function endsOf(events: readonly ThreadEvent[]): string[] {
  const ends = events.filter(isTurnEnd).map(({ type }) => type);
  const last = events.at(-1);
  return last && !isTurnEnd(last) ? [...ends, `then ${last.type}`] : ends;
}

export function openItems(events: readonly ThreadEvent[]): string[] {
  const open = new Map<string, string>();
  for (const event of events) {
    if (event.type === "itemStarted") open.set(event.item.id, `${event.item.kind} never completed`);
    if (event.type === "itemCompleted" && !open.delete(event.item.id)) open.set(event.item.id, `${event.item.kind} never started`);
  }
  return [...open.values()];
}

/** Messages whose deltas differ from their text. */
function incoherentMessages(events: readonly ThreadEvent[]): Item[] {
  const deltas = new Map<string, string>();
  for (const event of events) if (event.type === "messageDelta") deltas.set(event.itemId, (deltas.get(event.itemId) ?? "") + event.delta);
  return events
    .flatMap((event) => (event.type === "itemCompleted" ? [event.item] : []))
    .filter((item) => item.kind === "agentMessage" && item.texts.join("") !== (deltas.get(item.id) ?? ""));
}
