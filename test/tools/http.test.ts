import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { completed, noSuchThread, refused } from "../support/callResults.js";
import { handshake, notice, toolCall } from "../support/http/httpClient.js";
import { type HttpServer, startHttpServer } from "../support/http/httpServer.js";
import { stateless } from "../support/http/statelessHttp.js";
import { ALICE, BOB, type Headers, OPERATOR, threePrincipals } from "../support/http/threePrincipals.js";
import { startServer } from "../support/processes/mcpServer.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { type Stage, setStage, workspaceFiles } from "../support/stage.js";

let stage: Stage;
let server: HttpServer;
beforeAll(async () => {
  stage = await setStage();
  server = await startHttpServer({ stage, args: await threePrincipals(stage), http: "turns_per_session = 1" });
});
afterAll(async () => {
  await server?.[Symbol.asyncDispose]();
  await stage?.[Symbol.asyncDispose]();
});

async function openSession(who: Headers): Promise<Headers> {
  const { session = "" } = await server.ask({ headers: who, message: handshake(0) });
  return { ...who, "mcp-session-id": session };
}

let lastId = 0;
async function call(headers: Headers, tool: string, args: Readonly<Record<string, unknown>>): Promise<unknown> {
  const { body } = await server.ask({ headers, message: toolCall(++lastId, args, tool) });
  return valueAt(body, "result");
}

async function newThread(headers: Headers): Promise<string> {
  return String(valueAt(await call(headers, "codex", { prompt: "!say mine" }), "structuredContent.threadId"));
}

async function listed(headers: Headers, query: object = {}): Promise<unknown[]> {
  const page = await call(headers, "codex-threads", { action: "list", limit: 100, ...query });
  return (valueAt(page, "structuredContent.threads") as { id: string }[]).map(({ id }) => id);
}

const noThread = (threadId: string) => refused(noSuchThread(threadId));
const FOR_MANAGERS = refused(expect.stringContaining("the scope `manage`"));

describe.concurrent("threads of a network caller", () => {
  it("are listed only to callers who may use them", async () => {
    await using onStdio = await startServer({ stage });
    await onStdio.call("codex", { prompt: "!say of the user's own" }).result();
    const [alice, another, bob, root] = (await Promise.all([ALICE, ALICE, BOB, OPERATOR].map(openSession))) as [
      Headers,
      Headers,
      Headers,
      Headers,
    ];
    const [hers, his] = [await newThread(alice), await newThread(bob)];
    expect(await listed(alice)).toEqual([hers]);
    expect(await listed(bob)).toEqual([his]);
    expect([await listed(another), await listed(root)]).toEqual([[], []]);
    await server.ask({ method: "DELETE", headers: alice });
    expect(await listed(another)).toContain(hers);
  });

  it("are forked and archived by callers who may use them; a fork belongs to its caller", async () => {
    const [alice, bob] = [await openSession(ALICE), await openSession(BOB)];
    const threadId = await newThread(alice);
    for (const action of ["fork", "archive", "unarchive"])
      expect(await call(bob, "codex-manage", { action, threadId })).toEqual(noThread(threadId));
    const fork = String(valueAt(await call(alice, "codex-manage", { action: "fork", threadId }), "structuredContent.threadId"));
    expect(await call(bob, "codex-reply", { threadId: fork, prompt: "!say stolen" })).toMatchObject({ isError: true });
    expect(await call(alice, "codex-reply", { threadId: fork, prompt: "!say on" })).toEqual(completed(fork, "on"));
    await call(alice, "codex-manage", { action: "archive", threadId });
    expect([await listed(alice, { archived: true }), await listed(bob, { archived: true })]).toEqual([[threadId], []]);
  });

  it("are steered, summarised, stopped and read by callers who may use them", async () => {
    const [alice, bob] = [await openSession(ALICE), await openSession(BOB)];
    const threadId = await newThread(alice);
    expect(await call(bob, "codex-steer", { threadId, prompt: "!say stolen" })).toEqual(noThread(threadId));
    expect(await call(bob, "codex-manage", { action: "compact", threadId })).toMatchObject(noThread(threadId) as object);
    expect(await call(bob, "codex-manage", { action: "stop", threadId })).toEqual(noThread(threadId));
    expect(await call(bob, "codex-threads", { action: "read", threadId })).toEqual(noThread(threadId));
    expect(await call(alice, "codex-manage", { action: "compact", threadId })).toMatchObject({ structuredContent: { threadId } });
  });

  it("are steered although no further turn may begin", async () => {
    const alice = await openSession(ALICE);
    using stream = await server.stream({ headers: alice });
    const running = server.ask({ headers: alice, message: toolCall("running", { prompt: "!hang" }) });
    const threadId = valueAt(await stream.step("session_configured"), "params.msg.session_id");
    await stream.step("user_message");
    expect(await call(alice, "codex-steer", { threadId, prompt: "!say steered" })).toMatchObject({
      content: [{ text: expect.stringMatching(/^Added to the running turn\./) }],
    });
    await server.ask({ headers: alice, message: notice("notifications/cancelled", { requestId: "running" }) });
    expect(valueAt((await running).body, "result.isError")).toBe(true);
  });
});

describe.concurrent("a network caller's command", () => {
  it.each([
    ["a sandbox above the ceiling", { sandbox: "danger-full-access" }, "--max-sandbox"],
    ["a folder outside the allowed ones", { cwd: ".." }, "--allow-root"],
  ])("with %s is refused, naming what would allow it", async (_, args, named) => {
    const alice = await openSession(ALICE);
    expect(await call(alice, "codex-exec", { command: ["touch", "never.txt"], ...args })).toEqual(refused(expect.stringContaining(named)));
    expect(await workspaceFiles(stage)).not.toHaveProperty("never.txt");
  });

  it("below it runs", async () => {
    const alice = await openSession(ALICE);
    expect(await call(alice, "codex-exec", { command: ["echo", "hi"] })).toMatchObject({
      structuredContent: { exitCode: 0, stdout: "hi\n" },
    });
  });

  it("a review and a query have the same ceilings", async () => {
    const alice = await openSession(ALICE);
    for (const [tool, args] of [
      ["codex-review", { target: "uncommitted" }],
      ["codex-query", { prompt: "!say seen" }],
    ] as const)
      expect(await call(alice, tool, { ...args, cwd: "/" })).toEqual(refused(expect.stringContaining("--allow-root")));
  });
});

describe.concurrent("data of the whole server", () => {
  it("needs the scope `manage`: the login and the settings", async () => {
    const alice = await openSession(ALICE);
    for (const action of ["login", "device-login", "logout"])
      expect(await call(alice, "codex-account", { action, apiKey: "sk-0" })).toEqual(FOR_MANAGERS);
    expect(await call(alice, "codex-config", {})).toEqual(FOR_MANAGERS);
    const root = await openSession(OPERATOR);
    expect(await call(root, "codex-config", {})).toMatchObject({ structuredContent: { config: {} } });
    // No answer reveals which folders exist elsewhere.
    for (const cwd of ["/", "/no/such/folder", "/proc/self/cwd/.."])
      expect(await call(root, "codex-config", { cwd })).toEqual(refused(expect.stringContaining("--allow-root")));
    expect(await call(root, "codex-account", { action: "logout" })).toEqual(refused(expect.stringContaining("needs no login")));
  });

  it("every caller gets the state of the login and the models", async () => {
    const alice = await openSession(ALICE);
    expect(await call(alice, "codex-account", { action: "state" })).toMatchObject({ structuredContent: { kind: "none" } });
    expect(await call(alice, "codex-models", {})).toMatchObject({ structuredContent: { models: [{ isDefault: true }] } });
  });
});

it("in the era without sessions the rules are the same", async () => {
  const ask = async (who: Headers, name: string, args: object) => {
    const { body } = await server.ask(stateless({ method: "tools/call", params: { name, arguments: args }, headers: who }));
    return valueAt(body, "result");
  };
  const threadId = String(valueAt(await ask(ALICE, "codex", { prompt: "!say mine" }), "structuredContent.threadId"));
  const ids = valueAt(await ask(ALICE, "codex-threads", { action: "list", limit: 100 }), "structuredContent.threads") as { id: string }[];
  expect(ids.map(({ id }) => id)).toContain(threadId);
  expect(await ask(BOB, "codex-manage", { action: "fork", threadId })).toMatchObject(noThread(threadId) as object);
  expect(await ask(ALICE, "codex-manage", { action: "compact", threadId })).toMatchObject({ structuredContent: { threadId } });
  expect(await ask(ALICE, "codex-config", {})).toMatchObject(FOR_MANAGERS as object);
});
