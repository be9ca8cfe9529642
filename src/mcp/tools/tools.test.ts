import { describe, expect, it } from "vitest";
import { noSuchThread, refused } from "../../../test/support/callResults.js";
import { callerNamed, OwnToolsStage } from "../../../test/support/memory/ownToolsStage.js";
import { AboveCeiling } from "../../agent/errors.js";
import { AppError } from "../../lib/errors.js";
import { newThreadId, type ThreadId, turnIdOf } from "../../lib/ids.js";
import { InvalidCursor } from "../../threads/errors.js";
import type { CallToolResult } from "../wording/callResult.js";
import { toolsOf } from "./sets.js";
import { declarationOf } from "./tool.js";

const ALICE = { caller: callerNamed("alice") };
const BOB = { caller: callerNamed("bob") };
const MANAGER = { caller: callerNamed("root", { scopes: ["call", "manage"] }) };
const FOR_MANAGERS = refused(expect.stringContaining("the scope `manage`"));

function told(text: string, structuredContent?: object): CallToolResult {
  return { content: [{ text, type: "text" }], ...(structuredContent && { structuredContent: { ...structuredContent } }) };
}

it("every listed tool is the one that is loaded for it", async () => {
  const listed = toolsOf(["codex", "extras"]);
  const loaded = await Promise.all(listed.map(({ load }) => load()));
  expect(loaded.map(declarationOf)).toEqual(listed.map(({ declaration }) => declaration));
});

it("an engine that only runs turns says so; its threads are in the store", async () => {
  await using stage = new OwnToolsStage({ withoutServices: true });
  const why = refused("The engine scripted cannot do this. Start the server with another --engine.");
  for (const [tool, args] of [
    ["codex-exec", { command: ["true"] }],
    ["codex-models", {}],
    ["codex-account", { action: "state" }],
    ["codex-config", {}],
  ] as const)
    expect(await stage.call(tool, args)).toEqual(why);
  expect(await stage.call("codex-threads", { action: "list" })).toEqual(told("No threads.", { threads: [] }));
});

it.for([
  ["codex-steer", { prompt: "x" }, "missing field `threadId`"],
  ["codex-steer", { threadId: newThreadId(), prompt: "" }, "`prompt` is empty"],
  ["codex", { prompt: " \n" }, "`prompt` is empty"],
  ["codex-query", { prompt: "" }, "`prompt` is empty"],
  ["codex-manage", { action: "compact", threadId: "x" }, "invalid character"],
  ["codex-manage", { threadId: newThreadId() }, "missing field `action`, expected one of `stop`, `fork`, "],
  ["codex-manage", { action: "delete", threadId: newThreadId() }, "unknown variant `delete`"],
  ["codex-manage", { action: "fork" }, "missing field `threadId`"],
  ["codex-threads", { action: "read" }, "`read` needs `threadId`."],
  ["codex-threads", { action: "list", threadId: newThreadId() }, "`threadId` is for `read`."],
  ["codex-answer", { decision: "approve" }, "missing field `id`"],
  ["codex-answer", { id: "x", decision: "yes" }, "unknown variant `yes`"],
  ["codex-threads", { action: "list", limit: 0 }, "invalid value: integer `0`, expected a whole number from 1 to 100"],
  ["codex-exec", { command: "ls" }, 'invalid type: string "ls", expected a sequence of strings'],
  ["codex-exec", { command: [] }, "`command` must begin with a program."],
  ["codex-review", { target: "commit" }, "This target needs `commit`: the hash of the commit."],
  ["codex-review", { target: "custom", instructions: " " }, "This target needs `instructions`: what"],
  ["codex-account", { action: "login" }, "`login` needs `apiKey`"],
] as const)("%s with %j is refused: %s", async ([tool, args, why]) => {
  await using stage = new OwnToolsStage();
  expect(await stage.call(tool, args)).toEqual(refused(expect.stringContaining(why)));
});

describe("the threads", () => {
  it("of stdio are all stored ones, with the engine's own cursor", async () => {
    await using stage = new OwnToolsStage();
    const [first, second] = [newThreadId(), newThreadId()];
    stage.catalog.kept.push(first, second);
    const summary = { id: first, preview: "said", cwd: "/repo", startedAt: "then", lastUsedAt: "now" };
    expect(await stage.call("codex-threads", { action: "list", limit: 1 })).toEqual(
      told(`${first}  now  idle  /repo  said\nThere are more: cursor 1`, { threads: [{ ...summary, state: "idle" }], nextCursor: "1" }),
    );
    expect(await stage.call("codex-threads", { action: "list", cursor: "2" })).toEqual(told("No threads.", { threads: [] }));
  });

  it("of a network caller are its own, page by page, and no page reveals others", async () => {
    await using stage = new OwnToolsStage();
    const { kept } = stage.catalog;
    for (let at = 0; at < 60; at++) kept.push(newThreadId());
    const mine = kept.filter((_, at) => at % 7 === 3);
    for (const id of kept) stage.owners.kept.set(id, mine.includes(id) ? "alice" : "bob");
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const { structuredContent = {} } = await stage.call("codex-threads", { action: "list", limit: 4, cursor: cursor ?? null }, ALICE);
      const { threads, nextCursor } = structuredContent as { threads: { id: string }[]; nextCursor?: string };
      found.push(...threads.map(({ id }) => id));
      cursor = nextCursor;
      if (cursor !== undefined) expect(Buffer.from(cursor, "base64url").length).toBeGreaterThan(28);
    } while (cursor !== undefined);
    expect(found).toEqual(mine);
  });

  it("are searched in a limited part of the list at a time", async () => {
    await using stage = new OwnToolsStage();
    for (let at = 0; at < 1_000; at++) stage.catalog.kept.push(newThreadId());
    const answer = await stage.call("codex-threads", { action: "list", limit: 2 }, ALICE);
    expect(answer.structuredContent).toEqual({ threads: [], nextCursor: expect.any(String) });
    expect(stage.catalog.queries).toHaveLength(6);
  });

  it("a cursor works for its caller only", async () => {
    await using stage = new OwnToolsStage();
    const ids = [newThreadId(), newThreadId(), newThreadId()];
    stage.catalog.kept.push(...ids);
    for (const id of ids) stage.owners.kept.set(id, "alice");
    const page = (cursor: unknown, who: typeof ALICE) => stage.call("codex-threads", { action: "list", limit: 1, cursor }, who);
    const cursor = String((await page(null, ALICE)).structuredContent?.["nextCursor"]);
    expect((await page(cursor, ALICE)).structuredContent).toMatchObject({ threads: [{ id: ids[1] }] });
    const invalid = refused(new InvalidCursor().message);
    for (const wrong of [await page(cursor, BOB), await page("1", ALICE), await page(cursor.slice(0, -2), ALICE)])
      expect(wrong).toEqual(invalid);
  });

  it("a fork belongs to its caller, and only callers who may use a thread can fork or archive it", async () => {
    await using stage = new OwnToolsStage();
    const id = await idleThread(stage);
    stage.catalog.kept.push(id);
    const { structuredContent } = await stage.call("codex-manage", { action: "fork", threadId: id }, ALICE);
    expect(stage.owners.kept.get(structuredContent?.["threadId"] as never)).toBe("alice");
    for (const action of ["stop", "fork", "archive", "unarchive"])
      expect(await stage.call("codex-manage", { action, threadId: id }, BOB)).toEqual(refused(noSuchThread(id)));
    expect(stage.catalog.archived.size).toBe(0);
    const archived = `Archived thread ${id}. \`unarchive\` puts it back into the list.`;
    expect(await stage.call("codex-manage", { action: "archive", threadId: id }, ALICE)).toEqual(
      told(archived, { threadId: id, content: archived }),
    );
    expect([...stage.catalog.archived]).toEqual([id]);
  });
});

const LONG_OUTPUT = `first ${"x".repeat(1_000_000)} last`;

describe("a command", () => {
  it("runs with a new thread's settings, and reports its end for people and programs", async () => {
    await using stage = new OwnToolsStage();
    stage.services.result = { exitCode: 3, stdout: "out\n", stderr: "err\n" };
    expect(await stage.call("codex-exec", { command: ["ls", "-l"], cwd: "/repo/a", timeoutMs: 5 })).toEqual(
      told("out\nerr\n(exit code 3)", stage.services.result),
    );
    expect(stage.services.ran).toEqual([
      { argv: ["ls", "-l"], cwd: "/repo/a", sandboxPolicy: { type: "read-only" }, timeoutMs: 5, check: expect.any(Function) },
    ]);
  });

  it("that is forbidden never reaches the engine, whichever that is", async () => {
    const forbidden = new AboveCeiling("do not touch");
    await using stage = new OwnToolsStage({ checkCommand: () => Promise.reject(forbidden) });
    expect(await stage.call("codex-exec", { command: ["ls"] })).toEqual(refused(forbidden.message));
    expect(stage.services.ran).toEqual([]);
  });

  it.for([
    [{ exitCode: 0, stdout: "fine\n", stderr: "" }, "fine"],
    [{ exitCode: 0, stdout: "", stderr: "" }, "(exit code 0)"],
    [{ exitCode: 124, stdout: "", stderr: "" }, "(exit code 124: it timed out)"],
  ] as const)("%j reads %j", async ([result, text]) => {
    await using stage = new OwnToolsStage();
    stage.services.result = result;
    expect(await stage.call("codex-exec", { command: ["x"] })).toEqual(told(text, result));
  });

  it.for([
    ["stdout", { stdout: LONG_OUTPUT, stderr: "" }],
    ["stderr", { stdout: "", stderr: LONG_OUTPUT }],
    ["both", { stdout: LONG_OUTPUT, stderr: LONG_OUTPUT }],
  ] as const)("whose output is long (%s) keeps the beginning and the end, within the budget of results", async ([, streams]) => {
    await using stage = new OwnToolsStage({ resultTokens: 1_000 });
    stage.services.result = { exitCode: 0, ...streams };
    const { content, structuredContent } = await stage.call("codex-exec", { command: ["x"] });
    expect(JSON.stringify(structuredContent).length).toBeLessThanOrEqual(1_000 * 4 + 100);
    expect(String(content[0]?.text).length).toBeLessThanOrEqual(1_000 * 4);
    for (const name of ["stdout", "stderr"] as const)
      if (streams[name] !== "")
        expect(structuredContent?.[name]).toMatch(
          /^first x+\n\n\[… \d+ of 1000011 characters are left out here\. To see them, .*\. …\]\n\nx+ last$/,
        );
  });

  it("above its caller's ceiling does not run", async () => {
    const check = () => {
      throw new AboveCeiling("Too far.");
    };
    await using stage = new OwnToolsStage({
      limitsOf: () => ({ check, confinement: undefined, reach: { folders: undefined } }),
    });
    expect(await stage.call("codex-exec", { command: ["x"] }, ALICE)).toEqual(refused("Too far."));
    expect(stage.services.ran).toEqual([]);
  });

  it("ends with its call", async () => {
    await using stage = new OwnToolsStage();
    const { signal, abort } = withAbort();
    const running = stage.call("codex-exec", { command: ["hang"] }, { signal });
    abort();
    expect(await running).toEqual(refused("The call was cancelled."));
  });
});

describe("the account", () => {
  const KEY = "sk-secret-0123456789";

  it.for([
    [{ kind: "none", isNeeded: true, remedy: "Set a key." }, "Not logged in. Set a key."],
    [{ kind: "none", isNeeded: false }, "No login is needed."],
    [{ kind: "apiKey", source: "OPENAI_API_KEY" }, "An API key is used: OPENAI_API_KEY."],
    [{ kind: "chatgpt", email: "a@b.c", plan: "pro" }, "Logged in with ChatGPT as a@b.c (plan pro)"],
  ] as const)("%j reads %j", async ([state, text]) => {
    await using stage = new OwnToolsStage();
    stage.services.account.current = state;
    expect(await stage.call("codex-account", { action: "state" })).toEqual(told(text, state));
  });

  it("has limits, as far as its provider reports them", async () => {
    await using stage = new OwnToolsStage();
    const windows = {
      primary: { used_percent: 41.6, window_minutes: 300, resets_at: 1_790_000_000 },
      secondary: { used_percent: 7, window_minutes: null, resets_at: null },
      credits: { has_credits: true, unlimited: false, balance: "12.5" },
      plan_type: null,
    };
    const requests = { limit: 500, remaining: 499, resetsAt: 1_790_000_060 };
    stage.services.account.current = { kind: "apiKey", source: "memory", limits: { windows, requests, at: 1 } };
    const { content } = await stage.call("codex-account", { action: "state" });
    expect(content[0]?.text.split("\n")).toEqual([
      "An API key is used: memory.",
      "42 % of the limit of 5 h used; resets at 2026-09-21T14:13:20Z",
      "7 % of a limit used",
      "Credits: 12.5",
      "499 of 500 requests left; resets at 2026-09-21T14:14:20Z",
    ]);
  });

  it("is shown only to callers who may change it", async () => {
    await using stage = new OwnToolsStage();
    stage.services.account.current = { kind: "chatgpt", email: "a@b.c", plan: "pro" };
    expect(await stage.call("codex-account", { action: "state" }, ALICE)).toEqual(
      told("Logged in with ChatGPT (plan pro)", { kind: "chatgpt", plan: "pro" }),
    );
    expect((await stage.call("codex-account", { action: "state" }, MANAGER)).structuredContent).toMatchObject({ email: "a@b.c" });
  });

  it("accepts a key, returns a login code, and logs out", async () => {
    await using stage = new OwnToolsStage();
    expect(await stage.call("codex-account", { action: "login", apiKey: KEY })).toEqual(told("Logged in with the API key."));
    expect(stage.services.account.current).toEqual({ kind: "apiKey", source: "memory" });
    expect((await stage.call("codex-account", { action: "device-login" }, MANAGER)).structuredContent).toEqual({
      url: "https://login.invalid/device",
      code: "ABCD-1234",
    });
    expect(await stage.call("codex-account", { action: "logout" })).toEqual(told("Logged out."));
  });

  it("cannot be changed by other network callers", async () => {
    await using stage = new OwnToolsStage();
    for (const action of ["login", "device-login", "logout"])
      expect(await stage.call("codex-account", { action, apiKey: KEY }, ALICE)).toEqual(FOR_MANAGERS);
    expect(stage.services.account.current.kind).toBe("none");
  });

  it("never repeats the key in an error", async () => {
    await using stage = new OwnToolsStage();
    class Refused extends AppError {
      readonly code = "refused";
    }
    for (const failure of [new Refused(`${KEY} is no key`), new Error(`${KEY} is no key`)]) {
      stage.services.account.failure = failure;
      const answer = await stage.call("codex-account", { action: "login", apiKey: KEY });
      expect(answer).toMatchObject({ content: [{ text: "**** is no key" }], isError: true });
      expect(JSON.stringify(answer)).not.toContain(KEY);
    }
  });
});

it("the settings need the scope `manage`", async () => {
  await using stage = new OwnToolsStage();
  const config = { model: "mock", cwd: "/repo/a" };
  expect(await stage.call("codex-config", { cwd: "/repo/a" })).toEqual(told(JSON.stringify(config, null, 2), { config }));
  expect(await stage.call("codex-config", {}, ALICE)).toEqual(FOR_MANAGERS);
  expect((await stage.call("codex-config", {}, MANAGER)).isError).toBeUndefined();
});

it("the models are listed with their properties", async () => {
  await using stage = new OwnToolsStage();
  expect(await stage.call("codex-models", undefined)).toEqual(told("No models are offered.", { models: [] }));
  const models = [
    { model: "a", displayName: "The A", isDefault: true, reasoningEfforts: ["low", "high"] },
    { model: "b", displayName: "b", isDefault: false, reasoningEfforts: [] },
  ] as const;
  stage.services.offered = models;
  expect(await stage.call("codex-models", {})).toEqual(told("a (The A, default, low/high)\nb", { models }));
});

it("steering is refused if no turn runs", async () => {
  await using stage = new OwnToolsStage();
  const unknown = newThreadId();
  for (const who of [undefined, ALICE])
    expect(await stage.call("codex-steer", { threadId: unknown, prompt: "x" }, who)).toEqual(refused(noSuchThread(unknown)));
  const threadId = await idleThread(stage);
  expect(await stage.call("codex-steer", { threadId, prompt: "x" }, ALICE)).toEqual(
    refused(expect.stringMatching(/Send them as a reply.*`codex-reply`/)),
  );
  expect(await stage.call("codex-manage", { action: "stop", threadId }, ALICE)).toEqual(
    refused(expect.stringMatching(/No turn runs.*`codex-reply`/)),
  );
});

async function idleThread({ agent, threads }: OwnToolsStage): Promise<ThreadId> {
  const ask = { ...ALICE, signal: new AbortController().signal };
  const { threadId, outcome } = await agent.begin(ask, { text: "one" }, { turnId: turnIdOf("1") });
  await outcome;
  await threads.settle();
  return threadId;
}

function withAbort(): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort(new Error("not wanted")) };
}
