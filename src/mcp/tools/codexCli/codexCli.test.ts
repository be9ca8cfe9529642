import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import recorded from "../../../../test/recordings/codexCliTools.json" with { type: "json" };
import { MemoryAgent } from "../../../../test/support/memory/memoryAgent.js";
import { MemorySession, type MemorySessionOptions } from "../../../../test/support/memory/memorySession.js";
import { callerNamed } from "../../../../test/support/memory/ownToolsStage.js";
import { isRecord, valueAt } from "../../../../test/support/scenarios/scenario.js";

type Json = Readonly<Record<string, unknown>>;

function open(options: MemorySessionOptions = {}): MemorySession {
  return new MemorySession({ sets: ["codex-cli"], ...options });
}

async function call(client: MemorySession, tool: string, args: Json = {}): Promise<Json> {
  const result = await client.call(tool, args);
  if (!isRecord(result)) throw new Error(`no result: ${JSON.stringify(result)}`);
  return result;
}

function textOf(result: unknown): string {
  return String(valueAt(result, "content.0.text"));
}

async function threadOfSession(client: MemorySession, prompt: string, more: Json = {}): Promise<string> {
  const result = await call(client, "codex", { prompt, sessionId: "s", ...more });
  expect(result).not.toHaveProperty("isError");
  return String(valueAt(result, "structuredContent.threadId"));
}

async function sessions(client: MemorySession): Promise<readonly Json[]> {
  const text = textOf(await call(client, "listSessions"));
  return text === "No active sessions" ? [] : (JSON.parse(text) as Json[]);
}

function withoutDescriptions(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutDescriptions);
  if (!isRecord(value)) return value;
  const kept = Object.entries(value).filter(([key, entry]) => !(key === "description" && typeof entry === "string"));
  return Object.fromEntries(kept.map(([key, entry]) => [key, withoutDescriptions(entry)]));
}

function refused(text: unknown): unknown {
  return { content: [{ text, type: "text" }], isError: true };
}

const SCRIPTED = { "codex-mcpd/turn": { engine: "scripted" } };

describe("the list", () => {
  it("is the recorded one except for the descriptions", async () => {
    await using client = open();
    const { result } = await client.request("tools/list");
    expect(withoutDescriptions(result)).toEqual(recorded);
    expect(valueAt(result, "tools.0.description")).not.toContain("gpt-");
  });

  it.for(["0", "FALSE", "no", "off"])(
    "has no output schema with STRUCTURED_CONTENT_ENABLED=%s, and results have none either",
    async (value) => {
      await using client = open({ env: { STRUCTURED_CONTENT_ENABLED: value } });
      const { result } = await client.request("tools/list");
      expect(valueAt(result, "tools.0")).not.toHaveProperty("outputSchema");
      expect(await call(client, "codex", { prompt: "!say ok" })).not.toHaveProperty("structuredContent");
    },
  );

  it("lists only ping for a caller inside a turn, and refuses the other tools", async () => {
    await using client = open({ parts: { caller: { ...callerNamed("x"), inside: true } } });
    expect(valueAt(await client.request("tools/list"), "result.tools.length")).toBe(1);
    expect(textOf(await call(client, "codex", { prompt: "x" }))).toMatch(/^Error in tool "codex": .*inside a turn/);
  });
});

describe("codex", () => {
  it("answers with one text, whose _meta says the same as the structured content", async () => {
    await using client = open();
    const result = await call(client, "codex", { prompt: "!say hello", nonsense: true, sessionId: null });
    const members = { threadId: expect.stringMatching(/^[0-9a-f]{8}-/) as unknown, model: expect.any(String) as unknown };
    expect(result).toEqual({ content: [{ type: "text", text: "hello", _meta: members }], structuredContent: members, _meta: SCRIPTED });
    expect(Object.keys(valueAt(result, "content.0._meta") as Json)).toEqual(["threadId", "model"]);
    expect(client.notified("codex/event")).toEqual([]);
  });

  it("omits what the model does not report", async () => {
    await using client = open();
    expect(textOf(await call(client, "codex", { prompt: "!empty" }))).toBe("No output from Codex");
  });

  it("requests no approval, and stays in its sandbox", async () => {
    await using client = open();
    const result = await call(client, "codex", { prompt: "!shell touch made.txt\n!say done", sandbox: "read-only", fullAuto: true });
    expect(textOf(result)).toBe("done");
    expect(existsSync(path.join(client.agent.folder, "made.txt"))).toBe(false);
    await call(client, "codex", { prompt: "!shell touch made.txt\n!say done", fullAuto: true, workingDirectory: "." });
    expect(existsSync(path.join(client.agent.folder, "made.txt"))).toBe(true);
  });

  it("reports progress from step 0, with any token", async () => {
    await using client = open();
    for (const progressToken of [0, "", "t"]) {
      await client.request("tools/call", { name: "codex", arguments: { prompt: "!say ok" }, _meta: { progressToken } });
      const told = client.notified("notifications/progress").filter((params) => valueAt(params, "progressToken") === progressToken);
      expect(told[0]).toMatchObject({ progress: 0, message: "Starting Codex execution..." });
      expect(told.slice(1).map((params) => valueAt(params, "progress"))).toEqual(told.slice(1).map((_, at) => at + 2));
    }
  });

  it("names the running command in its progress", async () => {
    await using client = open();
    await client.request("tools/call", { name: "codex", arguments: { prompt: "!shell sleep 2\n!say ok" }, _meta: { progressToken: 1 } });
    const told = client.notified("notifications/progress").map((params) => valueAt(params, "message"));
    expect(told).toContain("Running sleep 2");
  });

  it("gives commands the callback URI, and returns it", async () => {
    await using client = open();
    const args = {
      prompt: '!shell test "$CODEX_MCP_CALLBACK_URI" = cb:1 && touch got\n!say ok',
      sandbox: "workspace-write",
      workingDirectory: ".",
    };
    const result = await call(client, "codex", { ...args, callbackUri: "cb:1" });
    expect(valueAt(result, "content.0._meta.callbackUri")).toBe("cb:1");
    expect(existsSync(path.join(client.agent.folder, "got"))).toBe(true);
    await using set = open({ env: { CODEX_MCP_CALLBACK_URI: "cb:2" } });
    expect(valueAt(await call(set, "codex", { prompt: "!say ok" }), "structuredContent.callbackUri")).toBe("cb:2");
  });

  it("accepts no callback URI over the network", async () => {
    await using client = open({ parts: { caller: callerNamed("alice") } });
    expect(await call(client, "codex", { prompt: "!say ok", callbackUri: "cb:1" })).toEqual(
      refused(
        expect.stringMatching(/^Error in tool "codex": Failed to execute tool "codex": .*\(`callbackUri` is not accepted over the network/),
      ),
    );
  });

  it("reports errors in the documented words, with the reason", async () => {
    await using client = open();
    const folder = refused(
      'Error in tool "codex": Failed to execute tool "codex": Failed to execute codex command (The working directory /nowhere does not exist. Name an existing directory as `workingDirectory`.)',
    );
    expect(await call(client, "codex", { prompt: "!say ok", workingDirectory: "/nowhere" })).toEqual(folder);
    const failed = await call(client, "codex", { prompt: "!status 401" });
    expect(failed).toMatchObject({ isError: true, structuredContent: { threadId: expect.any(String) as unknown } });
    expect(textOf(failed)).toMatch(
      /^Error in tool "codex": Failed to execute tool "codex": Authentication failed: Please run `codex login` \(.*401/,
    );
    expect(textOf(await call(client, "codex", { prompt: "!status 400" }))).toContain(": Failed to execute codex command (");
  });

  it("missing arguments and unknown tools are errors as recorded", async () => {
    await using client = open();
    for (const name of ["codex", "review", "ping", "help", "listSessions", "websearch"])
      expect(textOf(await client.call(name, undefined))).toMatch(
        new RegExp(`^Error in tool "${name}": Validation failed for tool "${name}": \\[\\n  {\\n    "expected": "object"`),
      );
    expect(await call(client, "nope")).toEqual(refused('Error in tool "nope": Unknown tool: nope'));
  });

  it("uses CODEX_DEFAULT_MODEL unless the call names a model", async () => {
    await using client = open({ env: { CODEX_DEFAULT_MODEL: "mine" } });
    const modelOf = async (args: Json) => valueAt(await call(client, "codex", { prompt: "!say ok", ...args }), "content.0._meta.model");
    expect([await modelOf({}), await modelOf({ model: "other" })]).toEqual(["mine", "other"]);
  });
});

describe("a session", () => {
  it("continues with its thread, folder and sandbox, and an explicit argument changes them", async () => {
    await using client = open();
    const elsewhere = path.join(client.agent.folder, "elsewhere");
    mkdirSync(elsewhere);
    const first = await threadOfSession(client, "!shell touch one\n!say one", { sandbox: "workspace-write", workingDirectory: elsewhere });
    expect(await threadOfSession(client, "!shell touch two\n!say two")).toBe(first);
    expect(readdirSync(elsewhere).sort()).toEqual(["one", "two"]);
    expect(await threadOfSession(client, "!shell touch three\n!say three", { sandbox: "read-only" })).toBe(first);
    expect(readdirSync(elsewhere).sort()).toEqual(["one", "two"]);
    const third = path.join(client.agent.folder, "third");
    mkdirSync(third);
    expect(await threadOfSession(client, "!shell touch four\n!say x", { workingDirectory: third, fullAuto: true })).toBe(first);
    expect(readdirSync(third)).toEqual(["four"]);
    expect(await sessions(client)).toEqual([
      { id: "s", createdAt: expect.any(String) as unknown, lastAccessedAt: expect.any(String) as unknown, turnCount: 4 },
    ]);
  });

  it("survives the server, with its settings, and belongs to its caller", async () => {
    await using agent = new MemoryAgent();
    const folder = path.join(agent.folder, "f");
    mkdirSync(folder);
    const first = await (async () => {
      await using client = open({ agent });
      return await threadOfSession(client, "!say one", { sandbox: "workspace-write", workingDirectory: folder });
    })();
    await agent.open.settle();
    await using later = new MemoryAgent({ codexHome: agent.codexHome });
    await using client = open({ agent: later });
    expect((await sessions(client)).map(({ id, turnCount }) => [id, turnCount])).toEqual([["s", 1]]);
    expect(await threadOfSession(client, "!shell touch made\n!say two")).toBe(first);
    expect(readdirSync(folder)).toEqual(["made"]);
    await using alice = open({ agent: later, parts: { caller: callerNamed("alice") } });
    await using bob = open({ agent: later, parts: { caller: callerNamed("bob") } });
    expect([await sessions(alice), await sessions(bob)]).toEqual([[], []]);
    const hers = await threadOfSession(alice, "!say hers");
    const his = await threadOfSession(bob, "!say his");
    expect(new Set([first, hers, his]).size).toBe(3);
    expect(await threadOfSession(alice, "!say hers again")).toBe(hers);
  });

  it("is forgotten by resetSession, which has no effect without a session", async () => {
    await using client = open();
    const first = await threadOfSession(client, "!say one");
    const second = await threadOfSession(client, "!say two", { resetSession: true });
    expect(second).not.toBe(first);
    expect((await sessions(client)).map(({ turnCount }) => turnCount)).toEqual([1]);
    expect(textOf(await call(client, "codex", { prompt: "!say free", resetSession: true }))).toBe("free");
  });

  it("continues from the last exchange if its thread is gone", async () => {
    await using agent = new MemoryAgent();
    const folder = path.join(agent.folder, "f");
    mkdirSync(folder);
    const first = await (async () => {
      await using client = open({ agent });
      await threadOfSession(client, "!say plain", { sandbox: "workspace-write", workingDirectory: folder });
      return await threadOfSession(client, "!say def f(): pass");
    })();
    await agent.open.settle();
    rmSync(path.join(agent.codexHome, "sessions"), { recursive: true });
    await using later = new MemoryAgent({ codexHome: agent.codexHome });
    await using client = open({ agent: later });
    const second = await threadOfSession(client, "go on");
    expect(second).not.toBe(first);
    const { items, settings } = await later.open.agent.read({ caller: undefined, signal: new AbortController().signal }, second as never);
    expect(settings).toMatchObject({ cwd: folder, sandboxPolicy: { type: "workspace-write" }, approvalPolicy: "never" });
    expect(JSON.stringify(items)).toContain("Context: !say plain -> plain...\\nPrevious code context: def f(): pass...\\n\\nTask: go on");
  });

  it("has one turn at a time, even for two simultaneous calls", async () => {
    await using client = open();
    const both = ["!delay 20\n!say one", "!say two"].map((prompt) => call(client, "codex", { prompt, sessionId: "s" }));
    const [one, two] = await Promise.all(both);
    expect([textOf(one), textOf(two)]).toEqual(["one", "two"]);
    expect(valueAt(one, "structuredContent.threadId")).toBe(valueAt(two, "structuredContent.threadId"));
    expect((await sessions(client)).map(({ turnCount }) => turnCount)).toEqual([2]);
  });

  it("exists from its first call on, even when that fails", async () => {
    await using client = open();
    await call(client, "codex", { prompt: "!status 400", sessionId: "broken" });
    await call(client, "codex", { prompt: "x", sessionId: "nowhere", workingDirectory: "/nowhere" });
    expect((await sessions(client)).map(({ id, turnCount }) => [id, turnCount])).toEqual([
      ["nowhere", 0],
      ["broken", 0],
    ]);
  });

  it("is replaced by the hundred and first session", async () => {
    await using agent = new MemoryAgent();
    const config = path.join(agent.codexHome, "config.toml");
    writeFileSync(config, "[mcp_server.codex_cli]\nmax_sessions = 3\n");
    await using later = new MemoryAgent({ codexHome: agent.codexHome });
    await using client = open({ agent: later });
    for (const sessionId of ["a", "b", "c", "a", "d"]) await call(client, "codex", { prompt: "!say ok", sessionId });
    expect((await sessions(client)).map(({ id }) => id)).toEqual(["d", "a", "c"]);
  });

  it("cannot name a file, whatever its id is", async () => {
    await using client = open();
    for (const sessionId of ["constructor", "__proto__", "A".repeat(256), "a", "-", "con"])
      await call(client, "codex", { prompt: "!say ok", sessionId });
    expect(await sessions(client)).toHaveLength(6);
    const folder = path.join(client.codexHome, "mcp-server", "sessions", "user");
    expect(readdirSync(folder).every((name) => /^[0-9a-f]{64}\.json$/.test(name))).toBe(true);
    for (const sessionId of ["", "../../config", "a/b", "a\u0000", "é", "a".repeat(257), "a\n"])
      expect(textOf(await call(client, "codex", { prompt: "!say ok", sessionId }))).toContain("Session ID");
  });
});

describe("review", () => {
  const GIT = ["-c", "user.name=a", "-c", "user.email=a@b.invalid", "-c", "commit.gpgsign=false"];
  function repository(client: MemorySession): string {
    const folder = path.join(client.agent.folder, "repo");
    mkdirSync(folder);
    const git = (...args: string[]) => execFileSync("git", [...GIT, ...args], { cwd: folder, encoding: "utf8" });
    git("init", "--quiet", "--initial-branch=main");
    writeFileSync(path.join(folder, "a.txt"), "one\n");
    git("add", ".");
    git("commit", "--quiet", "--message=first");
    git("checkout", "--quiet", "-b", "topic");
    writeFileSync(path.join(folder, "a.txt"), "two\n");
    git("commit", "--quiet", "--all", "--message=second");
    writeFileSync(path.join(folder, "b.txt"), "new\n");
    return folder;
  }

  it("reviews the named target", async () => {
    await using client = open();
    const workingDirectory = repository(client);
    const commit = execFileSync("git", ["rev-parse", "HEAD"], { cwd: workingDirectory, encoding: "utf8" }).trim();
    for (const args of [
      { uncommitted: true },
      { base: "main", prompt: "Focus on security" },
      { commit, title: "Audit" },
      { prompt: "All of it." },
    ]) {
      const result = await call(client, "review", { ...args, workingDirectory });
      expect(result, JSON.stringify(args)).not.toHaveProperty("isError");
      const { uncommitted: _, prompt: __, title: ___, ...named } = { uncommitted: 0, prompt: 0, title: 0, ...args };
      expect(valueAt(result, "content.0._meta")).toEqual({ model: expect.any(String) as unknown, ...named });
      expect(valueAt(result, "structuredContent")).toEqual(valueAt(result, "content.0._meta"));
    }
  });

  it("refuses an ambiguous or missing target", async () => {
    await using client = open();
    const workingDirectory = repository(client);
    const why = async (args: Json) => textOf(await call(client, "review", { workingDirectory, ...args }));
    const validation = 'Error in tool "review": Validation failed for tool "review": ';
    expect(await why({ prompt: "x", uncommitted: true })).toBe(
      `${validation}The review prompt cannot be combined with uncommitted=true. Use a base/commit review or omit the prompt.`,
    );
    expect(await why({ base: "main", commit: "abc" })).toBe(`${validation}base cannot be combined with commit. Use one of them.`);
    expect(await why({ base: "main", uncommitted: true })).toMatch(/^.*uncommitted=true cannot be combined with base/);
    expect(await why({})).toBe(`${validation}No review target was given. Use uncommitted, base, commit or a prompt.`);
    expect(await why({ commit: "abc123def" })).toMatch(
      /^Error in tool "review": Failed to execute tool "review": Failed to execute code review \(/,
    );
    expect(await why({ base: "nowhere" })).toContain("Failed to execute code review (");
  });
});

describe("the small tools", () => {
  it("websearch is read-only, and reports its query", async () => {
    await using client = open();
    const result = await call(client, "websearch", { query: "!say found", numResults: 1, searchDepth: "full" });
    expect(valueAt(result, "content.0._meta")).toEqual({
      query: "!say found",
      numResults: 1,
      searchDepth: "full",
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as unknown,
    });
    for (const numResults of [0, 51])
      expect(textOf(await call(client, "websearch", { query: "x", numResults }))).toMatch(/Too (small|big)/);
  });

  it("ping echoes, help is Codex's or ours, listSessions is empty at first", async () => {
    await using client = open({ codexHelp: async () => "Usage: codex\n" });
    expect(await call(client, "ping", { message: "Hello, server!" })).toEqual({ content: [{ type: "text", text: "Hello, server!" }] });
    expect(await call(client, "ping")).toEqual({ content: [{ type: "text", text: "pong" }] });
    expect(await call(client, "help")).toEqual({ content: [{ type: "text", text: "Usage: codex\n" }] });
    expect(await call(client, "listSessions")).toEqual({ content: [{ type: "text", text: "No active sessions" }] });
    await using alone = open();
    expect(textOf(await call(alone, "help"))).toContain("codex-mcp-server doctor");
  });
});
