import path from "node:path";
import { describe, expect, it } from "vitest";
import { MemoryApprovalDesk } from "../src/approvals/desk.js";
import { createNativeEngine } from "../src/engines/native/engine.js";
import type { ScriptInputItem } from "../src/engines/native/scripted/scriptedCalls.js";
import { WritablePlaces } from "../src/exec/outside/outsidePrograms.js";
import { isFields } from "../src/lib/fields.js";
import { turnIdOf } from "../src/lib/ids.js";
import { NothingToSteer } from "../src/threads/errors.js";
import { ThreadRegistry } from "../src/threads/threadRegistry.js";
import { type ServicesUnderTest, servicesContract } from "./contracts/engineServices.js";
import { type WorkUnderTest, workContract } from "./contracts/work.js";
import { isMissing } from "./sandbox/available.js";
import { type ResponsesServer, startResponsesServer } from "./support/model/responsesServer.js";
import { setStage, stageEnvironment } from "./support/stage.js";
import { settingsIn, storeIn, tempHome } from "./support/threads/rollouts.js";

workContract("native", { makeEngine: nativeWork });
servicesContract("native", { openEngine: nativeServices, withoutSandbox: isMissing });

describe("what a native thread leaves on the disk", () => {
  const reviewed = { type: "custom", instructions: "!say one\\ntwo" } as const;

  it("after a review as its first turn: the request, by which it is listed, and the result, which a later process knows", async () => {
    await using under = await nativeServices();
    const turn = await under.threads.start(under.settings, { text: "", work: { kind: "review", target: reviewed } }, turnIdOf("1"));
    expect(await turn.outcome).toEqual({ status: "completed", lastMessage: "one\ntwo" });
    const listed = await under.threads.list({ limit: 5 });
    expect(listed).toEqual({ threads: [expect.objectContaining({ id: turn.threadId, preview: "Review: !say one\\ntwo" })] });
    const later = under.laterThreads();
    expect(await (await later.reply(turn.threadId, { text: "!say noted" })).outcome).toMatchObject({ lastMessage: "noted" });
    await later.settle();
    expect(spokenIn(under.model.requests.at(-1)?.body.input)).toEqual(["Review: !say one\\ntwo", "one\ntwo", "!say noted"]);
  });

  it("after a summary: the new history", async () => {
    await using under = await nativeServices();
    const { threadId, outcome } = await under.threads.start(under.settings, { text: "!say alpha" }, turnIdOf("1"));
    await outcome;
    expect(await (await under.threads.reply(threadId, { text: "", work: { kind: "compact" } })).outcome).toEqual({
      status: "completed",
      lastMessage: null,
    });
    const later = under.laterThreads();
    expect(await (await later.reply(threadId, { text: "go on" })).outcome).toMatchObject({ lastMessage: "alpha" });
    await later.settle();
    expect(spokenIn(under.model.requests.at(-1)?.body.input)).toEqual(["!say alpha", expect.stringMatching(/summary.*\nalpha$/), "go on"]);
  });

  it("after a turn with further input: that input, in its place", async () => {
    await using under = await nativeServices();
    const turn = await under.threads.start(under.settings, { text: "!slow 40 20" }, turnIdOf("1"));
    for await (const batch of turn.log.read()) if (batch.some(({ value }) => value.type === "messageDelta")) break;
    await under.threads.steer(turn.threadId, "!say after all");
    expect(await turn.outcome).toEqual({ status: "completed", lastMessage: "after all" });
    await expect(under.threads.steer(turn.threadId, "!say too late")).rejects.toThrow(NothingToSteer);
    const later = under.laterThreads();
    expect(await (await later.reply(turn.threadId, { text: "go on" })).outcome).toMatchObject({ lastMessage: "after all" });
    await later.settle();
    expect(spokenIn(under.model.requests.at(-1)?.body.input)).toEqual([
      "!slow 40 20",
      expect.stringMatching(/^w0 /),
      "!say after all",
      "after all",
      "go on",
    ]);
  });
});

/** The messages of a conversation, without its initial context. */
function spokenIn(input: readonly ScriptInputItem[] = []): string[] {
  return input.flatMap(({ role, content }) => {
    const [part]: readonly unknown[] = Array.isArray(content) ? content : [];
    const text = isFields(part) ? String(part["text"]) : "";
    return role === "developer" || text.startsWith("<environment_context>") ? [] : [text];
  });
}

async function nativeWork(): Promise<WorkUnderTest> {
  const home = tempHome();
  const model = await startResponsesServer();
  const settings = settingsIn(home.path, { model: "mock-model" });
  const engine = createNativeEngine({
    codexHome: path.join(home.path, "codex-home"),
    env: process.env,
    serverCwd: home.path,
    writable: new WritablePlaces([]),
    userAgent: "test/1",
  });
  return {
    engine,
    model,
    settings: { ...settings, provider: { ...settings.provider, baseUrl: model.url, streamIdleTimeoutMs: 60_000 } },
    async [Symbol.asyncDispose]() {
      await engine.close?.();
      await model.close();
      home[Symbol.dispose]();
    },
  };
}

interface NativeServices extends ServicesUnderTest {
  readonly model: ResponsesServer;
  /** The threads as a later process reads them. */
  laterThreads(): ThreadRegistry;
}

async function nativeServices(): Promise<NativeServices> {
  const stage = await setStage();
  const { codexHome, workspace } = stage;
  const model = await startResponsesServer();
  const secret = "a-header-nobody-may-see";
  const { provider, ...others } = settingsIn(workspace, { model: "mock-model" });
  const settings = { ...others, provider: { ...provider, id: "mock", baseUrl: model.url, httpHeaders: { "x-extra": secret } } };
  const env = stageEnvironment(stage, { name: "", about: "", steps: [] }, {});
  const settingsOf = (cwd: string = workspace) => ({ ...settings, cwd });
  const engine = createNativeEngine({
    codexHome,
    env,
    serverCwd: workspace,
    writable: new WritablePlaces([]),
    userAgent: "test/1",
    services: { settingsIn: settingsOf },
  });
  const registries: ThreadRegistry[] = [];
  const openThreads = () => {
    const store = storeIn(codexHome);
    const threads = new ThreadRegistry({ engine, store, desk: new MemoryApprovalDesk(), settingsOf: () => settings, idleMs: 60_000 });
    registries.push(threads);
    return threads;
  };
  return {
    engine,
    threads: openThreads(),
    settings,
    workspace,
    secret,
    model,
    laterThreads: openThreads,
    async [Symbol.asyncDispose]() {
      for (const threads of registries) {
        await threads.settle();
        await threads.close();
      }
      await engine.close?.();
      await model.close();
      await stage[Symbol.asyncDispose]();
    },
  };
}
