import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { refused } from "../support/callResults.js";
import { claimMeta } from "../support/clients/statelessClient.js";
import { handshake, rpc, toolCall } from "../support/http/httpClient.js";
import { breakableWayTo } from "../support/http/httpProxy.js";
import { type HttpServer, startHttpServer } from "../support/http/httpServer.js";
import { openSocket } from "../support/http/httpSocketClient.js";
import { ALICE, OPERATOR, threePrincipals } from "../support/http/threePrincipals.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { setStage } from "../support/stage.js";
import { ALL_TOOL_NAMES } from "../support/toolPins.js";

const INSIDE = { "codex-mcp-inside": "1" };
const FROM_INSIDE = expect.stringContaining("comes from inside a turn");

function namesIn(list: unknown): unknown[] {
  const tools = valueAt(list, "result.tools");
  return Array.isArray(tools) ? tools.map((tool) => valueAt(tool, "name")) : [];
}

describe("a listening server among the MCP servers of its own threads", () => {
  const start = () => startHttpServer({ args: ["--max-sandbox", "read-only"] });

  /** Takes effect with the next thread. */
  async function addEntry({ running }: HttpServer, lines: string): Promise<void> {
    await writeFile(path.join(running.stage.codexHome, "config.toml"), `[mcp_servers.again]\n${lines}\n`);
  }

  /** The complete answer to a call whose agent uses a tool of `again`. */
  async function asked(server: HttpServer, tool: string, args: unknown): Promise<string> {
    const prompt = `!call mcp__again__${tool} ${JSON.stringify(args)}\n!say over`;
    const reply = await server.ask({ message: toolCall(1, { prompt, sandbox: "read-only" }), headers: { "x-mcp-post-stream": "1" } });
    return JSON.stringify(reply);
  }

  it.for(["127.0.0.1", "localhost", "127.1"])("is left out when its address is %s and its own port", async (host) => {
    await using server = await start();
    await addEntry(server, `url = "http://${host}:${server.port}/mcp"`);
    expect(await asked(server, "codex-models", {})).toContain("unsupported call");
    expect(server.running.errorLines.join("\n")).toContain("left out MCP server again: it is this server");
  });

  it("behind another address gives the agent no way past the ceiling", async () => {
    await using server = await start();
    await using way = await breakableWayTo(server.port);
    // The proxy forwards bytes unchanged, and the server accepts only its own host name.
    await addEntry(server, `url = "${way.origin}/mcp"\nhttp_headers = { Host = "127.0.0.1:${server.port}" }`);
    const outside = path.join(server.running.stage.root, "made-outside");
    const inner = { prompt: `!shell touch ${outside}`, sandbox: "danger-full-access", "approval-policy": "never" };
    expect(await asked(server, "codex", inner)).toContain("unsupported call");
    expect(await asked(server, "codex-models", {})).toContain("gpt-");
    expect(existsSync(outside)).toBe(false);
  });
});

describe("a call from inside a turn, over the network", () => {
  let server: HttpServer;
  beforeAll(async () => {
    const stage = await setStage();
    server = await startHttpServer({ stage, args: await threePrincipals(stage) });
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await server?.running.stage[Symbol.asyncDispose]();
  });

  it.for([
    ["an ordinary principal", ALICE],
    ["an operator", OPERATOR],
  ] as const)("with the token of %s cannot start anything, in a session or without one", async ([, token]) => {
    const headers = { ...token, ...INSIDE };
    const { session = "", body } = await server.ask({ message: handshake(1), headers });
    expect(valueAt(body, "result.instructions")).toEqual(FROM_INSIDE);
    const inSession = { ...headers, "mcp-session-id": session };
    expect(namesIn((await server.ask({ message: rpc(2, "tools/list"), headers: inSession })).body)).toEqual(["codex-models"]);
    for (const name of ALL_TOOL_NAMES.filter((tool) => tool !== "codex-models")) {
      const message = rpc(3, "tools/call", { name, arguments: { prompt: "!say hello" } });
      expect([name, valueAt((await server.ask({ message, headers: inSession })).body, "result")]).toEqual([name, refused(FROM_INSIDE)]);
    }
    const era = { ...headers, "mcp-protocol-version": "2026-07-28" };
    const list = rpc(4, "tools/list", { _meta: claimMeta() });
    expect(namesIn((await server.ask({ message: list, headers: { ...era, "mcp-method": "tools/list" } })).body)).toEqual(["codex-models"]);
    const call = rpc(5, "tools/call", { name: "codex", arguments: { prompt: "!say hello" }, _meta: claimMeta() });
    const answer = await server.ask({ message: call, headers: { ...era, "mcp-method": "tools/call", "mcp-name": "codex" } });
    expect(answer.body).toMatchObject({ result: refused(FROM_INSIDE) });
  });

  it("sees neither the sessions of its principal nor the metrics", async () => {
    const pages = ["/sessions", "/metrics", "/api/v1/metrics"];
    const statuses = [];
    for (const page of pages) statuses.push((await fetch(`${server.origin}${page}`, { headers: { ...OPERATOR, ...INSIDE } })).status);
    expect(statuses).toEqual([403, 403, 403]);
  });

  it("does not find the session that its principal opened outside", async () => {
    const { session = "" } = await server.ask({ message: handshake(1), headers: ALICE });
    const headers = { ...ALICE, "mcp-session-id": session };
    expect(namesIn((await server.ask({ message: rpc(2, "tools/list"), headers })).body)).toEqual(ALL_TOOL_NAMES);
    expect(await server.ask({ message: rpc(3, "tools/list"), headers: { ...headers, ...INSIDE } })).toMatchObject({ status: 404 });
  });

  it("cannot start anything on a WebSocket either", async () => {
    using socket = await openSocket(server.origin, { headers: { ...ALICE, ...INSIDE } });
    socket.send(toolCall(1, { prompt: "!say hello" }));
    expect(JSON.stringify(await socket.answerTo(1))).toContain("comes from inside a turn");
  });
});

it("a listening server that runs inside a turn starts nothing for any caller, whatever its settings are", async () => {
  const start = { config: "[mcp_server]\nmax_depth = 9\n", env: { CODEX_MCP_INSIDE: "1;danger-full-access" } };
  await using server = await startHttpServer(start);
  expect(namesIn((await server.ask({ message: rpc(1, "tools/list") })).body)).toEqual(["codex-models"]);
  const { body } = await server.ask({ message: toolCall(2, { prompt: "!say hello" }) });
  expect(valueAt(body, "result")).toEqual(refused(expect.stringContaining("runs inside a turn")));
});
