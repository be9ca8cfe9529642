import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { createCodexEngine } from "../../src/engines/codex/engine.js";
import { newThreadId } from "../../src/lib/ids.js";
import type { Engine, EngineThread } from "../../src/threads/engine.js";
import type { ThreadEvent, TurnInput } from "../../src/threads/events.js";
import type { ThreadSettings } from "../../src/threads/settings.js";
import { publishedCases } from "../support/codex/codexPeers.js";
import { type CodexStage, setCodexStage } from "../support/codex/codexStage.js";
import { eventually } from "../support/eventually.js";
import { lastMessageOf, playTurn } from "../support/threads/turns.js";

const CASES = await publishedCases();

const COMPACT: TurnInput = { text: "", work: { kind: "compact" } };
/** Commands run without a sandbox, so that only the engine ends them. */
const UNCONFINED = { approvalPolicy: "never", sandboxPolicy: { type: "danger-full-access" } } as const;

describe.each(CASES)("work that Codex $version does beside answering with $family", { timeout: 120_000 }, ({ program, model }) => {
  it("ends with a killed Codex, reports that, and the thread continues", async () => {
    await using stage = await setCodexStage({ model });
    await using engine = codexEngine(stage, program);
    const thread = await open(engine, stage.settings);
    await interrupted(thread, { text: "!hang" }, "itemCompleted");
    for (const asked of [COMPACT, reviewOf("!hang")]) {
      // A summary shows nothing before it is complete.
      const sign = asked === COMPACT ? "turnStarted" : "reviewStarted";
      const events = await playTurn(thread, asked, { onBatch: (batch) => batch.some(({ type }) => type === sign) && kill(stage) });
      expect(events.at(-1)).toEqual({
        type: "turnFailed",
        message: "The Codex process was ended by SIGKILL. The thread can be continued.",
        info: "other",
      });
      expect(reviewEnds(events)).toEqual(asked === COMPACT ? [] : [null]);
      expect(lastMessageOf(await playTurn(thread, "!say next"))).toBe("next");
    }
  });

  it("leaves no command running when a review is interrupted", async () => {
    await using stage = await setCodexStage({ model });
    await using engine = codexEngine(stage, program);
    const thread = await open(engine, { ...stage.settings, ...UNCONFINED });
    const events = await interrupted(thread, reviewOf("!shell sleep 300"), "commandStarted");
    expect(reviewEnds(events)).toEqual([null]);
    await eventually(
      "the end of the command",
      () => !stage.processes().some(({ commandLine }) => /sleep 300/.test(commandLine)) || undefined,
    );
    expect(stage.appServers()).toHaveLength(1);
  });

  it("is confined like its thread, even as the first turn on a thread that was loaded with wider permissions before", async () => {
    await using stage = await setCodexStage({ model });
    await using engine = codexEngine(stage, program);
    await open(engine, stage.settings);
    const free = await open(engine, { ...stage.settings, ...UNCONFINED });
    await playTurn(free, "!say alpha");
    await free.close?.();
    const settings: ThreadSettings = { ...stage.settings, approvalPolicy: "never", sandboxPolicy: { type: "read-only" } };
    const history = { items: [], usage: null, settings: { cwd: settings.cwd } };
    const confined = await engine.openThread({ id: free.kept?.id ?? newThreadId(), settings, history });
    const events = await playTurn(confined, reviewOf("!shell touch made.txt\n!say tried"));
    expect(lastMessageOf(events)).toBe("tried");
    expect(readdirSync(stage.workspace)).toEqual([]);
  });

  it("reports a message to the running turn that is longer than Codex accepts", async () => {
    await using stage = await setCodexStage({ model });
    await using engine = codexEngine(stage, program);
    const thread = await open(engine, stage.settings);
    let steered: Promise<unknown> | undefined;
    await playTurn(thread, "!slow 20 20", {
      onBatch() {
        steered ??= Promise.resolve(thread.steer?.("x".repeat(1_048_577))).catch(String);
      },
    });
    expect(await steered).toMatch(/Codex did not take the message into the running turn: .*1048576/);
  });
});

function codexEngine({ env, workspace: cwd }: CodexStage, codexBin: string): Engine & AsyncDisposable {
  const engine = createCodexEngine({ codexBin, env, cwd, report: () => {} });
  return { ...engine, [Symbol.asyncDispose]: async () => engine.close?.() };
}

function open(engine: Engine, settings: ThreadSettings): Promise<EngineThread> {
  return engine.openThread({ id: newThreadId(), settings });
}

function reviewOf(instructions: string): TurnInput {
  return { text: "", work: { kind: "review", target: { type: "custom", instructions } } };
}

function reviewEnds(events: readonly ThreadEvent[]): (string | null)[] {
  return events.flatMap((event) => (event.type === "reviewEnded" ? [event.text] : []));
}

async function interrupted(thread: EngineThread, asked: TurnInput, stopAt: ThreadEvent["type"]): Promise<readonly ThreadEvent[]> {
  const abort = new AbortController();
  return playTurn(thread, asked, {
    signal: abort.signal,
    onBatch: (batch) => batch.some(({ type }) => type === stopAt) && abort.abort(),
  });
}

function kill(stage: CodexStage): void {
  for (const { pid } of stage.appServers()) process.kill(pid, "SIGKILL");
}
