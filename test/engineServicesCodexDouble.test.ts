import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createCodexEngine } from "../src/engines/codex/engine.js";
import { newThreadId } from "../src/lib/ids.js";
import { isTurnEnd } from "../src/threads/turn.js";
import { buildAppServerDouble, type Faults, withFaults } from "./support/codex/appServerDouble.js";
import { COMMAND_FILE, LOGIN_DONE_FILE, LOGINS_FILE } from "./support/codex/appServerDoubleServices.js";
import { type CodexStage, setCodexStage } from "./support/codex/codexStage.js";
import { eventually } from "./support/eventually.js";
import { lastMessageOf, playTurn } from "./support/threads/turns.js";

const double = await buildAppServerDouble();
afterAll(() => double[Symbol.dispose]());
const unending = new AbortController().signal;

async function codexWith(faults: Faults) {
  const stage = await setCodexStage();
  const env = withFaults(stage.env, faults);
  const engine = createCodexEngine({
    codexBin: double.program,
    env,
    cwd: stage.workspace,
    report: () => {},
    defaults: () => stage.settings,
  });
  const services = await engine.services?.();
  if (!services) throw new Error("it has no services");
  return {
    stage,
    engine,
    services,
    async [Symbol.asyncDispose]() {
      await engine.close?.();
      await stage[Symbol.asyncDispose]();
    },
  };
}

function loginsIn({ codexHome }: CodexStage): string[] {
  const file = path.join(codexHome, LOGINS_FILE);
  return existsSync(file) ? readFileSync(file, "utf8").trimEnd().split("\n") : [];
}

describe.concurrent("a login with a code", () => {
  it("keeps Codex running until its user has typed the code", async () => {
    await using codex = await codexWith({});
    expect(await codex.services.account.loginWithDeviceCode()).toEqual({ url: "https://example.org/device", code: "CODE-1" });
    await codex.services.models(unending);
    expect(codex.stage.appServers()).toHaveLength(1);
    writeFileSync(path.join(codex.stage.codexHome, LOGIN_DONE_FILE), "");
    expect(await codex.stage.leftovers()).toEqual([]);
    expect(loginsIn(codex.stage)).toEqual(["completed login 1"]);
  });

  it("is ended by the next one, by a key and by a logout", async () => {
    await using codex = await codexWith({});
    const { account } = codex.services;
    const ended = () => loginsIn(codex.stage).map((line) => line.split(" ")[0]);
    await Promise.all([account.loginWithDeviceCode(), account.loginWithDeviceCode()]);
    expect(ended()).toEqual(["cancelled"]);
    await account.loginWithKey("sk-some-key");
    expect(ended()).toEqual(["cancelled", "cancelled"]);
    await account.loginWithDeviceCode();
    await account.logout();
    expect(ended()).toEqual(["cancelled", "cancelled", "cancelled"]);
    expect(await codex.stage.leftovers()).toEqual([]);
  });

  it("is ended with the engine", async () => {
    await using codex = await codexWith({});
    await codex.services.account.loginWithDeviceCode();
    await codex.engine.close?.();
    expect(loginsIn(codex.stage)).toEqual(["cancelled login 1"]);
    expect(await codex.stage.leftovers()).toEqual([]);
  });

  it("is over when Codex is killed, and the next one works", async () => {
    await using codex = await codexWith({});
    await codex.services.account.loginWithDeviceCode();
    for (const { pid } of codex.stage.appServers()) process.kill(pid, "SIGKILL");
    await eventually("its end", () => codex.stage.appServers().length === 0 || undefined);
    expect(await codex.services.account.loginWithDeviceCode()).toMatchObject({ code: "CODE-1" });
  });
});

describe.concurrent("models", () => {
  it("come from all pages, the default one first, without invalid entries", async () => {
    await using codex = await codexWith({});
    expect(await codex.services.models(unending)).toEqual([
      { model: "three", displayName: "three", isDefault: true, reasoningEfforts: ["high", "ultra"] },
      { model: "one", displayName: "One", isDefault: false, reasoningEfforts: ["low"] },
      { model: "two", displayName: "two", isDefault: false, reasoningEfforts: [] },
    ]);
  });

  it("are not reported after the caller has gone", async () => {
    await using codex = await codexWith({});
    await expect(codex.services.models(AbortSignal.abort(new Error("gone")))).rejects.toThrow("gone");
    expect(await codex.stage.leftovers()).toEqual([]);
  });

  it("of a Codex that does not list them cause an error that says what to do", async () => {
    await using codex = await codexWith({ lacks: "model/list" });
    await expect(codex.services.models(unending)).rejects.toThrow("This Codex cannot list its models. Update it");
  });
});

describe.concurrent("a single command", () => {
  const sandboxPolicy = { type: "read-only" } as const;

  it.each<[string, Faults]>([
    ["that is cancelled is ended by Codex", {}],
    ["that is cancelled ends together with Codex if Codex does not end it", { keepsCommands: true }],
  ])("%s", async (_what, faults) => {
    await using codex = await codexWith(faults);
    const abort = new AbortController();
    const command = { argv: ["sleep", "300"], cwd: codex.stage.workspace, sandboxPolicy, timeoutMs: 60_000 };
    const running = expect(codex.services.runOnce(command, abort.signal)).rejects.toThrow("not wanted");
    await eventually("the command", () => existsSync(path.join(codex.stage.codexHome, COMMAND_FILE)) || undefined);
    abort.abort(new Error("not wanted"));
    await running;
    expect(await codex.stage.leftovers()).toEqual([]);
  });

  it("that exceeds its time limit is ended by the server if Codex does not end it", async () => {
    await using codex = await codexWith({});
    const command = { argv: ["sleep", "300"], cwd: codex.stage.workspace, sandboxPolicy, timeoutMs: 10 };
    expect(await codex.services.runOnce(command, unending)).toEqual({ exitCode: 124, stdout: "", stderr: "", timedOut: true });
  });
});

describe.concurrent("a Codex that dies", () => {
  it.each([
    ["in a summary", { kind: "compact" }, []],
    ["in a review", { kind: "review", target: { type: "uncommittedChanges" } }, [null]],
  ] as const)("%s ends the turn with what happened", async (_when, work, reviewEnds) => {
    await using codex = await codexWith({ dies: "in the turn" });
    const thread = await codex.engine.openThread({ id: newThreadId(), settings: codex.stage.settings });
    const events = await playTurn(thread, { text: "", work });
    expect(events.flatMap((event) => (event.type === "reviewEnded" ? [event.text] : []))).toEqual(reviewEnds);
    expect(events.at(-1)).toEqual({
      type: "turnFailed",
      message: "The Codex process was ended by SIGKILL. The thread can be continued.",
      info: "other",
    });
  });
});

describe.concurrent("a Codex that accepts a message and ends the turn without using it", () => {
  it("gets the message again, and the turn continues", async () => {
    await using codex = await codexWith({});
    const thread = await codex.engine.openThread({ id: newThreadId(), settings: codex.stage.settings });
    let taken: Promise<boolean | undefined> | undefined;
    const events = await playTurn(thread, "!slow 1000 20", {
      onBatch(batch) {
        if (batch.some(({ type }) => type === "messageDelta")) taken ??= Promise.resolve(thread.steer?.("!say after all"));
      },
    });
    expect(await taken).toBe(true);
    expect(events.filter(isTurnEnd)).toEqual([{ type: "turnCompleted", lastMessage: "after all" }]);
    expect(lastMessageOf(await playTurn(thread, "go on"))).toBe("after all");
  });

  it("can be interrupted after the message was sent again", async () => {
    await using codex = await codexWith({});
    const thread = await codex.engine.openThread({ id: newThreadId(), settings: codex.stage.settings });
    const abort = new AbortController();
    let taken: Promise<boolean | undefined> | undefined;
    let answers = 0;
    const events = await playTurn(thread, "!slow 1000 20", {
      signal: abort.signal,
      onBatch(batch) {
        answers += batch.filter((event) => event.type === "itemStarted" && event.item.kind === "agentMessage").length;
        if (answers === 1) taken ??= Promise.resolve(thread.steer?.("!slow 500 20"));
        if (answers === 2) abort.abort();
      },
    });
    expect([await taken, answers]).toEqual([true, 2]);
    expect(events.filter(isTurnEnd)).toEqual([{ type: "turnAborted", reason: "interrupted" }]);
    expect(lastMessageOf(await playTurn(thread, "!say next"))).toBe("next");
  });
});

describe.concurrent("a Codex that is too old for something", () => {
  it.each([
    ["a review", "review/start", { kind: "review", target: { type: "uncommittedChanges" } }],
    ["being told again what confines a thread", "thread/settings/update", { kind: "compact" }],
  ] as const)("%s is reported, and nothing runs", async (_what, lacks, work) => {
    await using codex = await codexWith({ lacks });
    const thread = await codex.engine.openThread({ id: newThreadId(), settings: codex.stage.settings });
    const events = await playTurn(thread, { text: "", work });
    expect(events.at(-1)).toMatchObject({
      type: "turnFailed",
      message: expect.stringMatching(/^Codex refused the turn: .*unknown variant/),
    });
  });
});
