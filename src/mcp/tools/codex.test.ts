import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { completed, failed, refused } from "../../../test/support/callResults.js";
import { MemoryAgent } from "../../../test/support/memory/memoryAgent.js";
import { MemorySession, threadOf } from "../../../test/support/memory/memorySession.js";
import { OwnToolsStage } from "../../../test/support/memory/ownToolsStage.js";
import { valueAt } from "../../../test/support/scenarios/scenario.js";
import { AppError } from "../../lib/errors.js";
import type { Engine } from "../../threads/engine.js";

const OPENING = ["session_configured", "raw_response_item", "raw_response_item", "mcp_startup_complete"];
const BEGINNING = ["task_started", "raw_response_item", "item_started", "item_completed", "user_message"];
const ANSWER = [
  "token_count",
  "item_started",
  "agent_message_content_delta",
  "agent_message_delta",
  "item_completed",
  "agent_message",
  "raw_response_item",
  "token_count",
];

describe("a call", () => {
  it("opens a thread, shows the turn as it happens, and ends with its answer, after all events", async () => {
    await using client = new MemorySession();
    const result = await client.call("codex", { prompt: "!say ok" }, "call");
    expect(result).toEqual(completed(threadOf(result), "ok"));
    expect(client.eventTypesOf("call")).toEqual([...OPENING, ...BEGINNING, ...ANSWER, "task_complete"]);
    await client.request("ping", undefined, "p");
    expect(client.received.slice(-2)).toEqual([
      { id: "call", jsonrpc: "2.0", result },
      { id: "p", jsonrpc: "2.0", result: {} },
    ]);
  });

  it("is named in every event, with its thread", async () => {
    await using client = new MemorySession();
    const threadId = threadOf(await client.call("codex", { prompt: "!say ok" }, 7));
    const metas = client.notified("codex/event").map((params) => valueAt(params, "_meta"));
    const [opening, ...others] = metas;
    expect(opening).toEqual({ requestId: 7, threadId, "codex-mcpd/sandbox": expect.stringMatching(/^(bubblewrap|seatbelt|none)$/) });
    expect(others).toEqual(others.map(() => ({ requestId: 7, threadId })));
    expect(valueAt(client.eventsOf(7)[0], "session_id")).toBe(threadId);
  });

  it("runs with the settings it names", async () => {
    await using client = new MemorySession();
    mkdirSync(path.join(client.agent.folder, "sub"));
    const args = { prompt: "!say ok", model: "mock-other", "approval-policy": "never", sandbox: "workspace-write", cwd: "sub" };
    await client.call("codex", args, 1);
    expect(client.eventsOf(1)[0]).toMatchObject({
      model: "mock-other",
      approval_policy: "never",
      sandbox_policy: { type: "workspace-write", network_access: false },
      cwd: path.join(client.agent.folder, "sub"),
    });
  });

  it("whose model fails is an error that names the thread", async () => {
    await using client = new MemorySession();
    const result = await client.call("codex", { prompt: "!fail context_length_exceeded too long" }, 1);
    const why = "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying.";
    expect(result).toEqual(failed(threadOf(result), why));
    expect(client.eventTypesOf(1).at(-1)).toBe("error");
  });

  it("may run beside others, each with its own events and answer", async () => {
    await using client = new MemorySession();
    const results = await Promise.all(["a", "b", "c"].map((word, id) => client.call("codex", { prompt: `!say ${word}` }, id)));
    expect(results).toEqual(["a", "b", "c"].map((word, at) => completed(threadOf(results[at]), word)));
    expect(new Set(results.map(threadOf)).size).toBe(3);
    const spoken = [0, 1, 2].map((id) => client.eventsOf(id).find(({ type }) => type === "agent_message")?.["message"]);
    expect(spoken).toEqual(["a", "b", "c"]);
  });

  it("is answered while another still runs", async () => {
    await using client = new MemorySession();
    client.send({ id: "slow", method: "tools/call", params: { name: "codex", arguments: { prompt: "!hang" } } });
    await client.untilEvent("user_message", "slow");
    const result = await client.call("codex", { prompt: "!say quick" }, "quick");
    expect(result).toEqual(completed(threadOf(result), "quick"));
    expect(client.received.filter(({ id }) => id === "slow")).toEqual([]);
  });
});

describe("a call that is refused has no thread", () => {
  it.for([
    [undefined, "Missing arguments for codex tool-call; the `prompt` field is required."],
    [null, "Missing arguments for codex tool-call; the `prompt` field is required."],
    [{}, "Failed to parse configuration for Codex tool: missing field `prompt`"],
    [
      { prompt: "go", profile: "nobody" },
      "Failed to load Codex configuration from overrides: config profile `nobody` not found. A profile is a file NAME.config.toml in CODEX_HOME, or a table [profiles.NAME] in config.toml. There is none yet.",
    ],
    [
      { prompt: "go", config: { model_provider: "nobody" } },
      "Failed to load Codex configuration from overrides: Model provider `nobody` not found",
    ],
    [
      { prompt: "go", config: { mcp_servers: 5 } },
      "Failed to load Codex configuration from overrides: invalid type: integer `5`, expected a map\nin `mcp_servers`\n",
    ],
    [
      { prompt: "go", config: { model_verbosity: "colossal" } },
      "Failed to load Codex configuration from overrides: unknown variant `colossal`, expected one of `low`, `medium`, `high`\nin `model_verbosity`\n",
    ],
  ] as const)("%j", async ([args, why]) => {
    await using client = new MemorySession();
    expect(await client.call("codex", args)).toEqual(refused(why));
    expect(client.notified("codex/event")).toEqual([]);
  });
});

it("arguments that the client added are ignored and reported; those that the model invented are refused", async () => {
  await using client = new MemorySession();
  const added = await client.call("codex", { prompt: "!say ok", toolCallId: "call_1", wait_for_previous: true });
  expect(added).toMatchObject({
    content: [{ text: "ok" }, { text: expect.stringContaining("\nnote: Ignored, since clients add it to every call: `toolCallId`") }],
    structuredContent: { content: "ok", notices: ["Ignored, since clients add it to every call: `toolCallId`, `wait_for_previous`."] },
  });
  expect(await client.call("codex", { prompt: "!say ok", timeout: 5 })).toEqual(
    refused(expect.stringMatching(/^Failed to parse configuration for Codex tool: unknown field `timeout`, expected one of `prompt`, /)),
  );
});

it("a call whose engine cannot work is refused with the remedy", async () => {
  class NotLoggedIn extends AppError {
    readonly code = "not_logged_in";
  }
  const engine: Engine = {
    name: "codex",
    openThread: () => Promise.reject(new NotLoggedIn("Not logged in: run `codex login`.")),
  };
  await using stage = new OwnToolsStage({ engine });
  await using client = new MemorySession({ open: async () => stage.opened });
  expect(await client.call("codex", { prompt: "go" })).toEqual(refused("Not logged in: run `codex login`."));
});

it("unknown settings are accepted and reported", async () => {
  await using client = new MemorySession();
  expect(await client.call("codex", { prompt: "!say ok", config: { nonsense: 1 } })).toMatchObject({
    structuredContent: { content: "ok" },
  });
  expect(client.reported).toEqual(["unknown configuration key `nonsense`"]);
});

describe("the second text of a result names the thread", () => {
  it.for([
    ["2024-11-05", "claude-code", true],
    ["2025-11-25", "claude-code", false],
    ["2025-06-18", "gemini-cli-mcp-client", true],
    ["2025-11-25", "somebody", true],
    ["2024-11-05", "@cline/core", false],
  ] as const)("%s, %s: %s", async ([revision, name, isThere]) => {
    await using client = new MemorySession();
    await client.initialize(revision, name);
    const result = await client.call("codex", { prompt: "!say ok" });
    const texts = valueAt(result, "content") as readonly { readonly text: string }[];
    expect(texts[0]?.text).toBe("ok");
    expect(texts.slice(1).map(({ text }) => text.split("\n").slice(0, 2))).toEqual(isThere ? [["", `threadId: ${threadOf(result)}`]] : []);
  });
});

describe("the folder of a call", () => {
  it("must be an existing folder before a thread is opened", async () => {
    await using client = new MemorySession();
    const { folder } = client.agent;
    writeFileSync(path.join(folder, "notes.txt"), "");
    const missing = (cwd: string) => `The working directory ${cwd} does not exist. Name an existing directory as \`cwd\`.`;
    const cases: readonly (readonly [string, string])[] = [
      ["gone", missing(path.join(folder, "gone"))],
      ["/nonexistent/dir", missing("/nonexistent/dir")],
      ["notes.txt/inside", missing(path.join(folder, "notes.txt/inside"))],
      [
        "notes.txt",
        `The working directory ${path.join(folder, "notes.txt")} is not a directory but a file. Name its directory as \`cwd\`.`,
      ],
    ];
    for (const [cwd, why] of cases) expect(await client.call("codex", { prompt: "!say ok", cwd })).toEqual(refused(why));
    expect(client.notified("codex/event")).toEqual([]);
  });

  it.skipIf(process.getuid?.() === 0)("must be a folder that may be entered (not for root, who may enter all)", async () => {
    await using client = new MemorySession();
    const closed = path.join(client.agent.folder, "closed");
    mkdirSync(closed, { mode: 0o600 });
    expect(await client.call("codex", { prompt: "!say ok", cwd: closed })).toEqual(
      refused(`The working directory ${closed} cannot be used (EACCES). Name another one as \`cwd\`.`),
    );
  });

  it("is accepted unchecked by the tools of Codex 0.92.0", async () => {
    await using client = new MemorySession({ sets: ["codex-original"] });
    expect(await client.call("codex", { prompt: "!say ok", cwd: "gone" })).toMatchObject({ structuredContent: { content: "ok" } });
  });
});

describe("a server that was started in the home folder", () => {
  const REFUSED =
    /^No `cwd` was named, and this server was started in .*Name the folder to work in as `cwd`, or ask with `sandbox: read-only`\./;

  it("writes there only if the call names that folder", async () => {
    await using agent = new MemoryAgent({ startsAtHome: true });
    await using client = new MemorySession({ agent });
    const ask = (args: object) => client.call("codex", { prompt: "!say ok", ...args });
    expect(await ask({ sandbox: "workspace-write" })).toEqual(refused(expect.stringMatching(REFUSED)));
    expect(await ask({ sandbox: "danger-full-access", cwd: "" })).toEqual(refused(expect.stringMatching(REFUSED)));
    expect(await ask({ sandbox: "workspace-write", cwd: agent.folder })).toMatchObject({ structuredContent: { content: "ok" } });
    expect(await ask({})).toMatchObject({ structuredContent: { content: "ok" } });
  });

  it("suggests the folders of the last threads, or of its client", async () => {
    await using agent = new MemoryAgent({ startsAtHome: true });
    const project = path.join(agent.folder, "project");
    mkdirSync(project);
    await using client = new MemorySession({ agent });
    await client.call("codex", { prompt: "!say ok", cwd: "project" });
    const write = { prompt: "!say ok", sandbox: "workspace-write" };
    expect(await client.call("codex", write)).toEqual(refused(expect.stringMatching(`Recent threads worked in: ${project}\\.$`)));

    const capabilities = { roots: {} };
    await client.request("initialize", { protocolVersion: "2025-11-25", capabilities, clientInfo: { name: "test", version: "1" } });
    const answer = client.call("codex", write);
    const { id } = await client.until(() => client.received.find(({ method }) => method === "roots/list"));
    const roots = [{ uri: pathToFileURL("/work space").href }, { uri: "https://elsewhere" }, { uri: 5 }, null];
    client.send({ jsonrpc: "2.0", id, result: { roots } });
    expect(await answer).toEqual(refused(expect.stringMatching(/Your client works in: \/work space\.$/)));
  });

  it("accepts a folder that --cd names, and any folder for the tools of Codex 0.92.0", async () => {
    await using chosen = new MemoryAgent({ startsAtHome: true, cwd: "." });
    await using agent = new MemoryAgent({ startsAtHome: true });
    const write = { prompt: "!say ok", sandbox: "workspace-write" };
    for (const options of [{ agent: chosen }, { agent, sets: ["codex-original"] as const }]) {
      await using client = new MemorySession(options);
      expect(await client.call("codex", write)).toMatchObject({ structuredContent: { content: "ok" } });
    }
  });
});
