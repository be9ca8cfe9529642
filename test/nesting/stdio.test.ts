import { existsSync } from "node:fs";
import { chmod, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { refused } from "../support/callResults.js";
import { claimMeta, TASKS } from "../support/clients/statelessClient.js";
import { MAIN, type McpServer, startServer } from "../support/processes/mcpServer.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { type Stage, setStage } from "../support/stage.js";
import { ALL_TOOL_NAMES } from "../support/toolPins.js";

const NODE = process.execPath;
const SERVER = `'${NODE}' '${MAIN}' --engine scripted --tools codex,extras`;
const CLEAN = `env -i PATH="$PATH" HOME="$HOME" CODEX_HOME="$CODEX_HOME"`;

/** A server whose threads have one MCP server, `again`: this script. */
async function startWith(script: string, stage: Stage, settings = ""): Promise<McpServer> {
  const file = path.join(stage.root, "wrapped");
  await writeFile(file, `#!/bin/sh\n${script}\n`);
  await chmod(file, 0o755);
  const entry = `[mcp_servers.again]\ncommand = "${file}"\ncwd = "${stage.workspace}"\nenv_vars = ["CODEX_HOME"]\n`;
  const server = await startServer({ stage, config: `${settings}\n${entry}` });
  await server.initialize();
  return server;
}

/** The result of a tool of `again` for the agent of a read-only thread. */
async function asked(server: McpServer, tool: string, args: unknown): Promise<string> {
  const prompt = `!call mcp__again__${tool} ${JSON.stringify(args)}\n!say over`;
  const call = server.call("codex", { prompt, sandbox: "read-only", "approval-policy": "on-request" });
  await call.result();
  const outputs = call.events.filter(({ type }) => type === "raw_response_item").map((event) => valueAt(event, "item.output"));
  return JSON.stringify(outputs.findLast((output) => output !== undefined));
}

async function shown(server: McpServer): Promise<unknown[]> {
  const tools = valueAt(await server.request("tools/list"), "tools");
  return Array.isArray(tools) ? tools.map((tool) => valueAt(tool, "name")) : [];
}

describe("a server among the MCP servers of its own threads", () => {
  it.for([
    ["as it is", `exec ${SERVER}`],
    ["with a clean environment", `exec ${CLEAN} ${SERVER}`],
    ["with a clean environment, as a child", `${CLEAN} ${SERVER}\nexit $?`],
    ["in a session of its own", `exec setsid -w ${CLEAN} ${SERVER}`],
    ["with a mark of its own making", `export CODEX_MCP_INSIDE="1;danger-full-access"\nexec ${SERVER}`],
    ["without the mark", `unset CODEX_MCP_INSIDE CODEX_MCPD_EXEC_ID\nexec ${SERVER}`],
    ["with an empty mark", `export CODEX_MCP_INSIDE=\nexec ${SERVER}`],
    ["that thinks it may go deeper", `exec ${CLEAN} ${SERVER} -c mcp_server.max_depth=9`],
    [
      "behind a program that cleans up",
      `exec env -i '${NODE}' -e 'require("child_process").spawn(process.execPath, ["${MAIN}", "--engine", "scripted", "--tools", "codex,extras"], { stdio: "inherit", env: {} })'`,
    ],
  ] as const)("%s gives the agent no way out of its sandbox", async ([, script]) => {
    await using stage = await setStage();
    await using server = await startWith(script, stage);
    const outside = path.join(stage.root, "made-outside");
    const inner = { prompt: `!shell touch ${outside}\n!say inner`, sandbox: "danger-full-access", "approval-policy": "never" };
    // A server that recognizes the mark, and may be nested, is limited to the thread's sandbox.
    const held = /unsupported call|above the ceiling of this server, read-only/;
    expect(await asked(server, "codex", inner)).toMatch(held);
    expect(await asked(server, "codex-exec", { command: ["touch", outside], sandbox: "danger-full-access" })).toMatch(held);
    expect(existsSync(outside)).toBe(false);
    // The server is present and offers its other tools.
    expect(await asked(server, "codex-models", {})).toContain("models");
  });

  it("is left out if its entry is recognised, with a warning once in the log and on every thread", async () => {
    await using server = await startServer({ config: `[mcp_servers.codex]\ncommand = "${NODE}"\nargs = ["${MAIN}"]\n` });
    await server.initialize();
    for (const nth of [1, 2]) {
      const call = server.call("codex", { prompt: "!call mcp__codex__codex-models {}\n!say over" });
      await call.result();
      const warnings = call.events.filter(({ type }) => type === "warning").map(({ message }) => message);
      expect([nth, warnings]).toEqual([nth, [expect.stringContaining("left out MCP server codex: it is this server")]]);
    }
    expect(server.errorLines.filter((line) => line.includes("left out MCP server codex"))).toHaveLength(1);
    expect(server.started()).toEqual([]);
  });
});

const WORK = ALL_TOOL_NAMES.filter((name) => name !== "codex-models");
const ANYTHING = { prompt: "!say hello", command: ["true"], action: "list", target: "uncommitted", threadId: "x" };

describe.each([
  ["1;read-only", /mcp_server\.max_depth = 2/],
  ["3;danger-full-access", /mcp_server\.max_depth = 4/],
  ["nonsense", /outside of it/],
])("a server inside a turn, marked %s", (mark, remedy) => {
  const why = expect.stringMatching(new RegExp(`runs inside a turn.*starts no turn and no command.*${remedy.source}`));

  it("lists and runs no tool that starts a turn or a command, and says why", async () => {
    await using server = await startServer({ env: { CODEX_MCP_INSIDE: mark } });
    expect(await server.initialize()).toMatchObject({ instructions: why });
    expect(await shown(server)).toEqual(["codex-models"]);
    for (const tool of WORK) expect([tool, await server.call(tool, ANYTHING).result()]).toEqual([tool, refused(why)]);
    expect(await server.call("codex-models", {}).result()).not.toHaveProperty("isError");
  });

  it("lists and runs none in the era without sessions either, with and without tasks", async () => {
    await using server = await startServer({ env: { CODEX_MCP_INSIDE: mark } });
    expect(await server.request("server/discover", { _meta: claimMeta() })).toMatchObject({ instructions: why });
    const list = await server.request("tools/list", { _meta: claimMeta() });
    expect(list).toMatchObject({ tools: [{ name: "codex-models" }], cacheScope: "private" });
    for (const tool of WORK) {
      const result = await server.request("tools/call", { name: tool, arguments: ANYTHING, _meta: claimMeta(TASKS) });
      expect([tool, result]).toEqual([tool, expect.objectContaining(refused(why))]);
    }
  });
});

describe("a server that may start turns inside a turn", () => {
  const DEEPER = "[mcp_server]\nmax_depth = 2\n";
  const inside = (mark: string) => startServer({ config: DEEPER, env: { CODEX_MCP_INSIDE: mark } });

  it("has the limits of the turn around it", async () => {
    await using server = await inside("1;read-only");
    expect(await shown(server)).toEqual(ALL_TOOL_NAMES);
    expect(await server.call("codex", { prompt: "!say hello", sandbox: "read-only" }).result()).toMatchObject({
      structuredContent: { content: "hello" },
    });
    for (const sandbox of ["workspace-write", "danger-full-access"])
      expect(await server.call("codex", { prompt: "!say hello", sandbox }).result()).toEqual(
        refused(expect.stringContaining("above the ceiling of this server, read-only")),
      );
    expect(await server.call("codex-exec", { command: ["true"], sandbox: "danger-full-access" }).result()).toEqual(
      refused(expect.stringContaining("above the ceiling")),
    );
  });

  it("allows no folder that the turn around it does not", async () => {
    await using stage = await setStage();
    const start = { stage, config: DEEPER, env: { CODEX_MCP_INSIDE: `1;workspace-write;${stage.workspace}` } };
    await using server = await startServer(start);
    const call = (cwd: string) => server.call("codex", { prompt: "!say hello", sandbox: "workspace-write", cwd }).result();
    expect(await call(stage.workspace)).toMatchObject({ structuredContent: { content: "hello" } });
    expect(await call(stage.home)).toEqual(refused(expect.stringContaining(`allows only ${stage.workspace}`)));
  });

  it("accepts no program, rule or setting from a call", async () => {
    await using server = await inside("1;read-only");
    for (const config of [{ "mcp_servers.x.command": "sh" }, { "mcp_server.max_depth": 9 }, { notify: ["sh"] }])
      expect(await server.call("codex", { prompt: "!say hello", config }).result()).toEqual(
        refused(expect.stringContaining("from the `config` of a call")),
      );
  });

  it("does not have the identity of the turn's caller", async () => {
    await using stage = await setStage();
    await using outer = await startServer({ stage });
    const { structuredContent } = await outer.call("codex", { prompt: "!say secret" }).result();
    const threadId = String(valueAt(structuredContent, "threadId"));
    await using server = await startServer({ stage, config: DEEPER, env: { CODEX_MCP_INSIDE: "1;danger-full-access" } });
    expect(await server.call("codex-threads", { action: "list" }).result()).toMatchObject({ structuredContent: { threads: [] } });
    expect(await server.call("codex-reply", { threadId, prompt: "!say more" }).result()).toMatchObject({ isError: true });
    expect(await server.call("codex-config", {}).result()).toMatchObject({ isError: true });
    expect(await server.call("codex-account", { action: "logout" }).result()).toMatchObject({ isError: true });
  });

  it("counts as one level: what its own turns start is a level deeper, with no more permissions", async () => {
    await using stage = await setStage();
    await using server = await startWith(`exec ${SERVER}`, stage, DEEPER);
    const innermost = '!call mcp__again__codex-models {}\n!call mcp__again__codex {"prompt":"!say deep"}\n!say over';
    const told = await asked(server, "codex", { prompt: innermost, sandbox: "read-only" });
    expect(told).toContain("over");
    expect(await asked(server, "codex", { prompt: "!say x", sandbox: "workspace-write" })).toContain("above the ceiling");
  });

  it("serves nothing inside too many turns, or an unknown number", async () => {
    await using deep = await inside("2;danger-full-access");
    await using unknown = await inside("?");
    expect([await shown(deep), await shown(unknown)]).toEqual([["codex-models"], ["codex-models"]]);
  });
});
