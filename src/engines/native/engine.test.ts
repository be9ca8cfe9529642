import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type ResponsesServer, type ResponsesServerOptions, startResponsesServer } from "../../../test/support/model/responsesServer.js";
import { settingsIn, tempHome } from "../../../test/support/threads/rollouts.js";
import { lastMessageOf, playTurn, typesOf } from "../../../test/support/threads/turns.js";
import { WritablePlaces } from "../../exec/outside/outsidePrograms.js";
import { newThreadId } from "../../lib/ids.js";
import type { EngineThread } from "../../threads/engine.js";
import type { RawItem } from "../../threads/items.js";
import type { ModelProvider, ThreadSettings } from "../../threads/settings.js";
import type { ThreadHistory } from "../../threads/store.js";
import { createNativeEngine } from "./engine.js";
import { message } from "./model/items.js";
import { createScriptedEngine } from "./scripted/scriptedEngine.js";

interface Opened {
  readonly thread: EngineThread;
  readonly threadId: string;
  readonly server: ResponsesServer;
  readonly cwd: string;
  /** Opens a further thread. */
  readonly another: (changes: Partial<ThreadSettings>) => Promise<EngineThread>;
}

interface Situation extends ResponsesServerOptions {
  readonly settings?: Partial<ThreadSettings>;
  readonly provider?: Partial<ModelProvider>;
  readonly history?: Pick<ThreadHistory, "items"> & Partial<ThreadHistory>;
  readonly files?: Readonly<Record<string, string>>;
}

async function withNativeThread(situation: Situation, check: (opened: Opened) => Promise<void>): Promise<void> {
  using home = tempHome();
  for (const [name, text] of Object.entries(situation.files ?? {})) {
    mkdirSync(path.dirname(path.join(home.path, name)), { recursive: true });
    writeFileSync(path.join(home.path, name), text);
  }
  await using server = await startResponsesServer(situation);
  const cwd = path.join(home.path, "repo");
  const base = settingsIn(cwd, { model: "mock-model", ...situation.settings });
  const settings = { ...base, provider: { ...base.provider, baseUrl: server.url, streamIdleTimeoutMs: 10_000, ...situation.provider } };
  const engine = createNativeEngine({
    codexHome: path.join(home.path, "home"),
    env: {},
    serverCwd: home.path,
    writable: new WritablePlaces([]),
    userAgent: "test/1",
  });
  onTestFinished(() => engine.close?.());
  const threadId = newThreadId();
  const history = situation.history && { usage: null, settings: { cwd }, ...situation.history };
  const thread = await engine.openThread({ id: threadId, settings, ...(history ? { history } : {}) });
  const another = (changes: Partial<ThreadSettings>) => engine.openThread({ id: newThreadId(), settings: { ...settings, ...changes } });
  await check({ thread, threadId, server, cwd, another });
}

describe("a native thread", () => {
  it("sends the model its instructions, and shows readers the context", () =>
    withNativeThread(
      {
        settings: { baseInstructions: "BASE", developerInstructions: "DEVELOPER", projectDocMaxBytes: 100 },
        files: { "home/AGENTS.md": "mine", "repo/AGENTS.md": "ours" },
      },
      async ({ thread, threadId, server, cwd }) => {
        await playTurn(thread, "!say ok");
        const context = thread.opening.flatMap((event) => (event.type === "contextItem" ? [event.item] : []));
        expect(context.slice(1)).toEqual([
          message("developer", "DEVELOPER"),
          message("user", `# AGENTS.md instructions for ${cwd}\n\n<INSTRUCTIONS>\nmine\n\n--- project-doc ---\n\nours\n</INSTRUCTIONS>`),
          message("user", expect.stringMatching(/^<environment_context>/)),
        ]);
        expect(thread.opening.slice(context.length)).toEqual([{ type: "mcpStartupCompleted", ready: [], failed: [], cancelled: [] }]);
        const [request] = server.requests;
        expect(request?.body.input).toEqual([...context, message("user", "!say ok")]);
        expect([request?.body["instructions"], request?.body["prompt_cache_key"], request?.headers["session_id"]]).toEqual([
          "BASE",
          threadId,
          threadId,
        ]);
      },
    ));

  it("sends the model's items back to it, without ids", () =>
    withNativeThread({}, async ({ thread, server }) => {
      await playTurn(thread, "!think hm\n!plan look\n!say done");
      const sent = server.requests.at(-1)?.body.input.slice(2) ?? [];
      expect(sent.map((item) => [item.type, "id" in item])).toEqual([
        ["message", false],
        ["reasoning", false],
        ["function_call", false],
        ["function_call_output", false],
      ]);
      expect(sent[1]).toEqual({ type: "reasoning", summary: [{ type: "summary_text", text: "hm" }], encrypted_content: "opaque" });
    }));

  it("asks again over a new stream when one breaks, and says so", () =>
    withNativeThread(
      {
        provider: { streamMaxRetries: 2 },
        respond: (_request, index) => (index === 0 ? { stream: ": begun\n\n", ending: "cut" as const } : undefined),
      },
      async ({ thread }) => {
        const events = await playTurn(thread, "!say at last");
        expect(events.filter(({ type }) => type === "modelRetry")).toEqual([
          {
            type: "modelRetry",
            attempt: 1,
            limit: 2,
            cause: "stream disconnected before completion: Transport error: network error: error decoding response body",
          },
        ]);
        expect(lastMessageOf(events)).toBe("at last");
      },
    ));

  it("waits as long as a busy provider asks", () =>
    withNativeThread(
      {
        provider: { requestMaxRetries: 1 },
        respond: (_request, index) => (index === 0 ? { status: 429, headers: { "retry-after-ms": "1" } } : undefined),
      },
      async ({ thread }) => {
        expect(lastMessageOf(await playTurn(thread, "!say served"))).toBe("served");
      },
    ));

  it.each<[string, Partial<ModelProvider>, RegExp]>([
    ["an address that is none", { baseUrl: "localhost:1234/v1" }, /^The base_url of provider/],
    ["a missing key", { envKey: "NO_SUCH_KEY" }, /^Missing environment variable: `NO_SUCH_KEY`\.\nSet it in this server's environment /],
    ["a language we do not speak", { wireApi: "chat" }, /wire_api = "chat"/],
  ])("opens with a provider that cannot work, and says in each turn why: %s", (_what, provider, why) =>
    withNativeThread({ provider }, async ({ thread }) => {
      for (let turn = 0; turn < 2; turn++)
        expect((await playTurn(thread, "!say x")).at(-1)).toEqual({
          type: "turnFailed",
          message: expect.stringMatching(why),
          info: "other",
        });
    }),
  );
});

describe("a native thread that is continued", () => {
  const ITEMS: readonly RawItem[] = [
    message("developer", "rules of that time"),
    {
      type: "message",
      role: "user",
      content: [
        { type: "input_text", text: "what is this?" },
        { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=", detail: "high" },
      ],
    },
    { type: "reasoning", summary: [], content: null, encrypted_content: "opaque" },
    { type: "message", role: "assistant", content: [{ type: "output_text", text: "a cat" }] },
    { type: "function_call", name: "view_image", arguments: '{"path":"a.png"}', call_id: "c1" },
    { type: "function_call_output", call_id: "c1", output: [{ type: "input_image", image_url: "data:image/png;base64,AAAA" }] },
    { type: "hologram", id: "kept", layers: [1] },
  ];

  it("shows the model its history exactly, images included, and no second context", () =>
    withNativeThread({ history: { items: ITEMS } }, async ({ thread, server }) => {
      await playTurn(thread, "!say still a cat");
      expect(server.requests[0]?.body.input).toEqual([...ITEMS, message("user", "!say still a cat")]);
    }));

  it("is summarised first if it is too long, images included", () =>
    withNativeThread(
      {
        settings: { contextWindow: 1000 },
        history: {
          items: ITEMS,
          usage: {
            total_token_usage: tokens(5000),
            last_token_usage: tokens(950),
            model_context_window: 950,
          },
        },
      },
      async ({ thread, server }) => {
        const events = await playTurn(thread, "!say short again");
        expect(typesOf(events)).toContain("historyCompacted");
        expect(server.requests[0]?.body.input.slice(0, -1)).toEqual(ITEMS);
        expect(server.requests[1]?.body.input.slice(-3)).toEqual([
          message("user", "what is this?"),
          message("user", expect.stringMatching(/\nhello$/)),
          message("user", "!say short again"),
        ]);
      },
    ));
});

it("a misspelt effort is refused, not lowered, when another model takes the place of ours", () =>
  withNativeThread(
    { models: () => ["gpt-5.2"], settings: { model: "gpt-6.1-sol", modelIsOurs: "default" } },
    async ({ thread, another }) => {
      expect(lastMessageOf(await playTurn(thread, "!say served"))).toBe("served");
      await expect(another({ reasoningEffort: "hihg" })).rejects.toThrow("Model `gpt-5.2` does not offer the effort `hihg`");
      expect(lastMessageOf(await playTurn(await another({ reasoningEffort: "ultra" }), "!say served"))).toBe("served");
    },
  ));

function tokens(total: number) {
  return { input_tokens: total, cached_input_tokens: 0, output_tokens: 0, reasoning_output_tokens: 0, total_tokens: total };
}

it("a broken rules file is reported with the thread, because it turns all rules off", async () => {
  using home = tempHome();
  mkdirSync(path.join(home.path, "rules"));
  writeFileSync(path.join(home.path, "rules", "default.rules"), "prefix_rule(pattern=");
  const engine = createScriptedEngine({ codexHome: home.path, env: {}, serverCwd: home.path, writable: new WritablePlaces([]) });
  onTestFinished(() => engine.close?.());
  const { opening } = await engine.openThread({ id: newThreadId(), settings: settingsIn(home.path) });
  expect(opening.at(-1)).toEqual({ type: "warning", message: expect.stringContaining("default.rules") });
});
