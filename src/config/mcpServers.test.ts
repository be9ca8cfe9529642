import { describe, expect, it } from "vitest";
import { mcpServers } from "./mcpServers.js";

describe("mcpServers", () => {
  it("is empty when none is configured", () => {
    expect(mcpServers({})).toEqual([]);
  });

  it("fills in the defaults of a program", () => {
    expect(mcpServers({ mcp_servers: { docs: { command: "docs-mcp" } } })).toEqual([
      {
        name: "docs",
        transport: { kind: "program", command: "docs-mcp", args: [], env: {}, envVars: [] },
        startupTimeoutMs: 10_000,
        toolTimeoutMs: 60_000,
        disabledTools: [],
      },
    ]);
  });

  it("takes everything a program was given, and expands nothing", () => {
    const docs = {
      command: "$HOME/docs",
      args: ["--root", "~"],
      env: { TOKEN: "$SECRET" },
      env_vars: ["PROXY"],
      cwd: "/srv",
      enabled: true,
      startup_timeout_sec: 1.5,
      startup_timeout_ms: 9,
      tool_timeout_sec: 0.25,
      enabled_tools: ["a", "b"],
      disabled_tools: ["b"],
    };
    expect(mcpServers({ mcp_servers: { docs } })).toEqual([
      {
        name: "docs",
        transport: {
          kind: "program",
          command: "$HOME/docs",
          args: ["--root", "~"],
          env: { TOKEN: "$SECRET" },
          envVars: ["PROXY"],
          cwd: "/srv",
        },
        startupTimeoutMs: 1500,
        toolTimeoutMs: 250,
        enabledTools: ["a", "b"],
        disabledTools: ["b"],
      },
    ]);
  });

  it("takes everything an HTTP server was given", () => {
    const web = {
      url: "http://localhost/mcp",
      bearer_token_env_var: "WEB_TOKEN",
      http_headers: { "x-team": "a" },
      env_http_headers: { "x-key": "WEB_KEY" },
      startup_timeout_ms: 300,
    };
    expect(mcpServers({ mcp_servers: { web } })).toEqual([
      {
        name: "web",
        transport: {
          kind: "http",
          url: "http://localhost/mcp",
          bearerTokenEnvVar: "WEB_TOKEN",
          httpHeaders: { "x-team": "a" },
          envHttpHeaders: { "x-key": "WEB_KEY" },
        },
        startupTimeoutMs: 300,
        toolTimeoutMs: 60_000,
        disabledTools: [],
      },
    ]);
  });

  it("leaves out what is disabled, and keeps the order", () => {
    const settings = { mcp_servers: { b: { command: "b" }, off: { command: "off", enabled: false }, a: { command: "a" } } };
    expect(mcpServers(settings).map(({ name }) => name)).toEqual(["b", "a"]);
  });

  it("waits no longer than a timer can", () => {
    const [server] = mcpServers({ mcp_servers: { slow: { command: "slow", startup_timeout_sec: 1e9, tool_timeout_sec: 1e9 } } });
    expect([server?.startupTimeoutMs, server?.toolTimeoutMs]).toEqual([2 ** 31 - 1, 2 ** 31 - 1]);
  });
});
