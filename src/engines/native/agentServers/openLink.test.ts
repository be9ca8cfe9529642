import { describe, expect, it } from "vitest";
import { httpHeaders, programEnvironment } from "./openLink.js";

describe("a program's environment", () => {
  const ours = { HOME: "/home/me", PATH: "/bin", LC_ALL: "C", TZ: "UTC", OPENAI_API_KEY: "sk-ours", CODEX_MCP_TOKEN: "t", PROXY: "p" };

  it("has what a program needs, and none of our secrets", () => {
    expect(programEnvironment({ env: {}, envVars: [] }, ours)).toEqual({ HOME: "/home/me", PATH: "/bin", LC_ALL: "C", TZ: "UTC" });
  });

  it("has the named and the configured variables, unchanged", () => {
    expect(programEnvironment({ env: { TZ: "$HOME", EMPTY: "" }, envVars: ["PROXY", "UNSET"] }, ours)).toEqual({
      HOME: "/home/me",
      PATH: "/bin",
      LC_ALL: "C",
      TZ: "$HOME",
      PROXY: "p",
      EMPTY: "",
    });
  });
});

describe("an HTTP server's headers", () => {
  const nothing = { kind: "http", url: "http://localhost/mcp", httpHeaders: {}, envHttpHeaders: {} } as const;

  it("are the configured ones, those from variables that have a value, and the token; a variable overrides a configured value", () => {
    const transport = {
      ...nothing,
      httpHeaders: { "x-team": "a", "x-key": "written" },
      envHttpHeaders: { "x-key": "KEY", "x-blank": "BLANK", "x-unset": "UNSET" },
      bearerTokenEnvVar: "TOKEN",
    };
    expect(httpHeaders("web", transport, { KEY: "from the variable", BLANK: " ", TOKEN: "secret" })).toEqual({
      "x-team": "a",
      "x-key": "from the variable",
      Authorization: "Bearer secret",
    });
  });

  it("cannot be built without the required token", () => {
    const transport = { ...nothing, bearerTokenEnvVar: "TOKEN" };
    expect(() => httpHeaders("web", transport, {})).toThrow("Environment variable TOKEN for MCP server 'web' is not set");
    expect(() => httpHeaders("web", transport, { TOKEN: "" })).toThrow("Environment variable TOKEN for MCP server 'web' is empty");
  });
});
