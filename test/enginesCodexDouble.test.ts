import { afterAll, describe, expect, it } from "vitest";
import { createCodexEngine } from "../src/engines/codex/engine.js";
import { newThreadId } from "../src/lib/ids.js";
import type { EngineThread } from "../src/threads/engine.js";
import { type EngineUnderTest, engineContract } from "./contracts/engine.js";
import { buildAppServerDouble, type Faults, withFaults } from "./support/codex/appServerDouble.js";
import { type CodexStage, setCodexStage } from "./support/codex/codexStage.js";
import { eventually } from "./support/eventually.js";
import { lastMessageOf, playTurn } from "./support/threads/turns.js";

const double = await buildAppServerDouble();
afterAll(() => double[Symbol.dispose]());

interface StagedEngine extends EngineUnderTest {
  readonly stage: CodexStage;
  readonly reported: readonly string[];
}

async function engineWith(faults: Faults, inherited?: CodexStage): Promise<StagedEngine> {
  const stage = inherited ?? (await setCodexStage());
  const reported: string[] = [];
  const env = withFaults(stage.env, faults);
  const engine = createCodexEngine({ codexBin: double.program, env, cwd: stage.workspace, report: (line) => reported.push(line) });
  return {
    stage,
    reported,
    engine,
    settings: stage.settings,
    async [Symbol.asyncDispose]() {
      await engine.close?.();
      if (!inherited) await stage[Symbol.asyncDispose]();
    },
  };
}

engineContract("codex (double)", {
  makeEngine: (before) => engineWith({}, before && "stage" in before ? (before as StagedEngine).stage : undefined),
  timeoutMs: 60_000,
});

function open({ engine, settings }: EngineUnderTest): Promise<EngineThread> {
  return engine.openThread({ id: newThreadId(), settings });
}

describe.concurrent("a Codex that does not start properly is ended, and refused with an error that says what to do", {
  timeout: 60_000,
}, () => {
  it.each<[string, Faults, RegExp]>([
    ["too old", { version: "0.149.3" }, /is version 0\.149\.3; at least 0\.150\.0 is needed\. Update it/],
    ["too old to know app-server", { version: "0.40.0", atStart: "exit" }, /is version 0\.40\.0; at least 0\.150\.0 is needed/],
    ["of no version", { userAgent: "who knows" }, /did not report its version/],
    ["newer than we know", { version: "9.0.0", lacks: "turn/start" }, /no longer has turn\/start: .* Update codex-mcpd/],
    [
      "ending at once",
      { atStart: "exit" },
      /Codex 0\.166\.0 at .* did not start\. .*exited with code 3: error: the double was told to exit\. Run `codex` in a terminal to see/,
    ],
    ["silent", { atStart: "hang" }, /did not start\. Codex did not answer initialize within 15 s/],
    ["weaker than asked", { sandbox: "dangerFullAccess" }, /sandbox danger-full-access instead of read-only/],
  ])("%s", async (_what, faults, complaint) => {
    await using under = await engineWith(faults);
    await expect(open(under)).rejects.toThrow(complaint);
    await under.engine.close?.();
    expect(await under.stage.leftovers()).toEqual([]);
  });

  it("not logged in", async () => {
    await using under = await engineWith({});
    const { provider } = under.settings;
    const settings = { ...under.settings, provider: { ...provider, requiresOpenaiAuth: true } };
    await expect(under.engine.openThread({ id: newThreadId(), settings })).rejects.toThrow(/not logged in: run `codex login`/);
  });
});

describe.concurrent("a Codex with oddities works all the same", () => {
  it.each<[string, Faults]>([
    ["when it prints other things first", { atStart: "garbage" }],
    ["when it does not know our capabilities", { refusesCapabilities: true }],
    ["when it has too much to do at first", { overloads: 3 }],
    ["when it cannot clean terminals", { lacks: "thread/backgroundTerminals/clean" }],
    ["when its messages have other shapes", { changedShapes: true }],
    ["when it floods us", { flood: 20_000 }],
    ["when it is a pre-release", { version: "0.170.0-alpha.3" }],
  ])("%s", async (_what, faults) => {
    await using under = await engineWith(faults);
    const thread = await open(under);
    expect(lastMessageOf(await playTurn(thread, "!say fine"))).toBe("fine");
    expect(lastMessageOf(await playTurn(thread, "go on"))).toBe("fine");
  });

  it("and reports the model that it chose", async () => {
    await using under = await engineWith({});
    const { kept } = await open(under);
    expect([kept?.settings.model, kept?.settings.provider.id]).toEqual(["model-of-the-double", "double"]);
  });
});

describe.concurrent("a Codex that dies", () => {
  it.each(["before the turn", "in the turn"] as const)("%s ends the turn with what happened, every time", async (dies) => {
    await using under = await engineWith({ dies });
    const thread = await open(under);
    for (let round = 0; round < 3; round++) {
      const events = await playTurn(thread, "!say never");
      expect(events.at(-1)).toEqual({
        type: "turnFailed",
        message: "The Codex process was ended by SIGKILL. The thread can be continued.",
        info: "other",
      });
    }
    expect(under.reported.filter((line) => line.includes("was ended by SIGKILL"))).toHaveLength(3);
  });

  it("before the thread is there says that the call can be repeated", async () => {
    await using under = await engineWith({ dies: "before the thread" });
    await expect(open(under)).rejects.toThrow(
      "The Codex process was ended by SIGKILL. No turn was begun: repeat the call, for which Codex is started again.",
    );
  });

  it("between two turns has no effect", async () => {
    await using under = await engineWith({});
    const thread = await open(under);
    await playTurn(thread, "!say alpha");
    for (const { pid } of under.stage.appServers()) process.kill(pid, "SIGKILL");
    await eventually("the news of its end", () => under.reported.find((line) => line.includes("was ended by SIGKILL")));
    expect(lastMessageOf(await playTurn(thread, "go on"))).toBe("alpha");
  });
});

describe.concurrent("a Codex that works", () => {
  it("runs once for all threads, ends with the last of them, and starts again with the next", async () => {
    await using under = await engineWith({});
    const [one, two] = await Promise.all([open(under), open(under)]);
    await playTurn(one, "!say alpha");
    expect(under.stage.appServers()).toHaveLength(1);
    await one.close?.();
    expect(lastMessageOf(await playTurn(two, "!say beta"))).toBe("beta");
    await two.close?.();
    expect(await under.stage.leftovers()).toEqual([]);
    const history = { items: [], usage: null, settings: { cwd: under.settings.cwd } };
    const again = await under.engine.openThread({ id: one.kept?.id ?? newThreadId(), settings: under.settings, history });
    expect(lastMessageOf(await playTurn(again, "go on"))).toBe("alpha");
  });
});

describe.concurrent("a Codex that does not react", () => {
  it("to an interrupt is ended, and the next turn works", async () => {
    await using under = await engineWith({ ignoresInterrupts: true });
    const thread = await open(under);
    const abort = new AbortController();
    const events = await playTurn(thread, "!hang", { signal: abort.signal, onBatch: () => abort.abort() });
    expect(events.at(-1)).toEqual({ type: "turnAborted", reason: "interrupted" });
    expect(lastMessageOf(await playTurn(thread, "!say next"))).toBe("next");
    expect(under.reported).toContainEqual(expect.stringContaining("did not stop a turn when asked to"));
  });

  it("at its start does not keep the server from ending", async () => {
    await using under = await engineWith({ atStart: "hang" });
    const opening = open(under);
    const refused = expect(opening).rejects.toThrow();
    await under.engine.close?.();
    await refused;
    expect(await under.stage.leftovers()).toEqual([]);
  });
});
