import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { eventually } from "../../../../test/support/eventually.js";
import { type HttpTool, startHttpMcpServer } from "../../../../test/support/http/httpMcpServer.js";
import { startLoopback } from "../../../../test/support/http/loopback.js";
import { callNamed, httpServer, openServers, startupOf, structuredAnswer } from "../../../../test/support/processes/agentMcpServers.js";
import { deferred } from "../../../lib/promises.js";

const greet: HttpTool = () => ({ content: [{ type: "text", text: "hello" }] });
const HELLO = { output: '[{"text":"hello","type":"text"}]' };

describe("a server on HTTP", () => {
  it.for([
    ["as a stream", false],
    ["as JSON", true],
  ] as const)("answers %s, and is notified of the end of the session", async ([, json]) => {
    await using web = await startHttpMcpServer({ json, tools: { greet } });
    const servers = openServers([httpServer("web", web.url)]);
    expect((await callNamed(servers, "mcp__web__greet")).result).toEqual(HELLO);
    expect(web.openSessions).toBe(1);
    await servers.close();
    expect(web.openSessions).toBe(0);
    expect(web.requests.filter((request) => request !== "GET /mcp")).toEqual([
      "POST /mcp initialize",
      "POST /mcp notifications/initialized",
      "POST /mcp tools/list",
      "POST /mcp tools/call",
      "DELETE /mcp",
    ]);
  });

  it("gets its headers and its token", async () => {
    await using web = await startHttpMcpServer({ tools: { greet } });
    const settings = httpServer("web", web.url, {
      httpHeaders: { "x-team": "a" },
      envHttpHeaders: { "x-key": "WEB_KEY" },
      bearerTokenEnvVar: "WEB_TOKEN",
    });
    await using servers = openServers([settings], { env: { WEB_KEY: "k", WEB_TOKEN: "t" } });
    await callNamed(servers, "mcp__web__greet");
    expect(web.headers).toMatchObject({ "x-team": "a", "x-key": "k", authorization: "Bearer t" });
  });

  it("may redirect to another path of the same host", async () => {
    await using web = await startHttpMcpServer({
      tools: { greet },
      intercept: ({ url }, response) => {
        if (url === "/mcp/") return false;
        response.writeHead(307, { location: "/mcp/" }).end();
        return true;
      },
    });
    await using servers = openServers([httpServer("web", web.url)]);
    expect((await callNamed(servers, "mcp__web__greet")).result).toEqual(HELLO);
  });

  it("may ask questions during a call", async () => {
    const ask: HttpTool = async ({ server }) => {
      const requestedSchema = { type: "object" as const, properties: { colour: { type: "string" as const } } };
      const { action, content } = await server.elicitInput({ message: "Which colour?", requestedSchema });
      return { content: [], structuredContent: { action, content } };
    };
    await using web = await startHttpMcpServer({ tools: { ask } });
    await using servers = openServers([httpServer("web", web.url)], {
      ask: async () => ({ action: "accept", content: { colour: "blue" } }),
    });
    expect(await structuredAnswer(servers, "mcp__web__ask")).toEqual({ action: "accept", content: { colour: "blue" } });
  });

  it("learns when a call is interrupted, and stays usable", async () => {
    const called = deferred<void>();
    const interrupted = deferred<void>();
    const wait: HttpTool = ({ signal }) => {
      signal.addEventListener("abort", () => interrupted.resolve(), { once: true });
      called.resolve();
      return new Promise(() => {});
    };
    await using web = await startHttpMcpServer({ tools: { wait, greet } });
    await using servers = openServers([httpServer("web", web.url)]);
    const turn = new AbortController();
    const call = callNamed(servers, "mcp__web__wait", "{}", turn.signal);
    await called.promise;
    turn.abort(new Error("interrupted"));
    await expect(call).rejects.toThrow("interrupted");
    await interrupted.promise;
    expect((await callNamed(servers, "mcp__web__greet")).result).toEqual(HELLO);
    expect(web.requests.filter((request) => request.endsWith("initialize")).length).toBe(1);
  });
});

const BROKE_OFF = "connection closed: its answer broke off";

const WAYS_TO_BREAK_OFF: readonly [way: string, breakOff: (response: ServerResponse) => void, reason: string][] = [
  ["by hanging up before its answer", (response) => response.destroy(), "socket hang up"],
  ["by hanging up in its answer", (response) => begin(response, () => response.destroy()), BROKE_OFF],
  ["by ending a stream without the answer", (response) => begin(response, () => response.end()), BROKE_OFF],
];

function begin(response: ServerResponse, then: () => void): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(": begun\n\n", then);
}

describe("a server on HTTP that fails", () => {
  it.for(WAYS_TO_BREAK_OFF)("%s fails the call at once; the next opens a new session", async ([, breakOff, reason]) => {
    let calls = 0;
    await using web = await startHttpMcpServer({
      tools: { greet },
      intercept: ({ mcpMethod }, response) => {
        if (mcpMethod !== "tools/call" || calls++ > 0) return false;
        breakOff(response);
        return true;
      },
    });
    await using servers = openServers([httpServer("web", web.url)]);
    const Err = `tool call error: tool call failed for \`web/greet\`\n\nCaused by:\n    tools/call failed: ${reason}`;
    expect((await callNamed(servers, "mcp__web__greet")).result).toEqual({ output: `err: ${JSON.stringify(Err)}` });
    expect((await callNamed(servers, "mcp__web__greet")).result).toEqual(HELLO);
    expect(web.requests.filter((request) => request === "POST /mcp initialize").length).toBe(2);
  });

  it("by forgetting the session fails one call; the next opens a new session", async () => {
    await using web = await startHttpMcpServer({ tools: { greet } });
    await using servers = openServers([httpServer("web", web.url)]);
    await callNamed(servers, "mcp__web__greet");
    web.forgetSessions();
    expect((await callNamed(servers, "mcp__web__greet")).result.output).toMatch(/tools\/call failed: HTTP 404: .*no such session/);
    expect((await callNamed(servers, "mcp__web__greet")).result).toEqual(HELLO);
  });

  it("by requiring a login names the remedy", async () => {
    await using place = await startLoopback((_, response) => void response.writeHead(401).end());
    await using servers = openServers([httpServer("web", place.origin)]);
    expect((await startupOf(servers)).slice(1)).toEqual([
      {
        type: "mcpStartupUpdated",
        server: "web",
        status: {
          state: "failed",
          error:
            'The web MCP server requires a login. Put a token into an environment variable and name it in your config.toml:\n[mcp_servers.web]\nbearer_token_env_var = "XX"',
        },
      },
      { type: "mcpStartupCompleted", ready: [], failed: [{ server: "web", error: "Auth required" }], cancelled: [] },
    ]);
  });

  it.for([
    [
      "by repeating the token it refuses does not make us repeat it",
      { bearerTokenEnvVar: "WEB_TOKEN" },
      "handshaking with MCP server failed: HTTP 403: Error POSTing to endpoint: bad token **** ",
    ],
    ["by having no token", { bearerTokenEnvVar: "UNSET" }, "Environment variable UNSET for MCP server 'web' is not set"],
  ] as const)("%s", async ([, changes, error]) => {
    const page = " page".repeat(1000);
    await using place = await startLoopback((request, response) => {
      response.writeHead(403).end(`bad token ${request.headers.authorization?.slice("Bearer ".length)}${page}`);
    });
    await using servers = openServers([httpServer("web", place.origin, changes)], { env: { WEB_TOKEN: "very-secret" } });
    const summary = (await startupOf(servers)).at(-1);
    expect(summary).toEqual({
      type: "mcpStartupCompleted",
      ready: [],
      failed: [{ server: "web", error: expect.stringMatching(startingWith(error)) }],
      cancelled: [],
    });
    expect(JSON.stringify(summary).length).toBeLessThan(1000);
  });

  it("by never answering ends at the time limit", async () => {
    await using place = await startLoopback(() => {});
    await using servers = openServers([httpServer("web", place.origin, { startupTimeoutMs: 100 })]);
    expect((await startupOf(servers)).at(-1)).toMatchObject({
      failed: [{ server: "web", error: "timed out handshaking with MCP server after 100ms" }],
    });
    await place.allLeft();
  });

  it("by an invalid address", async () => {
    await using servers = openServers([httpServer("web", "not an address")]);
    expect((await startupOf(servers)).at(-1)).toMatchObject({ failed: [{ server: "web", error: "Invalid URL" }] });
  });

  it.for([
    ["a stream", false],
    ["JSON", true],
  ] as const)("by an endless message in %s is cut off", async ([, json]) => {
    const endless: HttpTool = () => ({ content: [{ type: "text", text: "x".repeat(20_000_000) }] });
    await using web = await startHttpMcpServer({ json, tools: { endless, greet } });
    await using servers = openServers([httpServer("web", web.url)]);
    expect((await callNamed(servers, "mcp__web__endless")).result.output).toMatch(/^err: .{1,500}$/);
    expect((await callNamed(servers, "mcp__web__greet")).result).toEqual(HELLO);
  });
});

function startingWith(text: string): RegExp {
  return new RegExp(`^${text.replaceAll(/[*.]/g, String.raw`\$&`)}`);
}

it("closing does not wait for a server that does not answer", async () => {
  await using web = await startHttpMcpServer({ tools: { greet }, intercept: ({ method }) => method === "DELETE" });
  const servers = openServers([httpServer("web", web.url)]);
  await callNamed(servers, "mcp__web__greet");
  await expect(servers.close()).resolves.toBeUndefined();
  expect(await eventually("the end of the session", () => web.requests.find((request) => request === "DELETE /mcp"))).toBeDefined();
});
