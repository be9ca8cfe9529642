import { describe, expect, it } from "vitest";
import type { ModelProvider } from "../threads/settings.js";
import { findProvider, mcpServers, providerNotices } from "./endpoints.js";

const OPENAI: ModelProvider = {
  id: "openai",
  name: "OpenAI",
  baseUrl: "https://api.openai.com/v1",
  wireApi: "responses",
  httpHeaders: {},
  envHttpHeaders: { "OpenAI-Organization": "OPENAI_ORGANIZATION", "OpenAI-Project": "OPENAI_PROJECT" },
  queryParams: {},
  requestMaxRetries: 4,
  streamMaxRetries: 5,
  streamIdleTimeoutMs: 300_000,
  requiresOpenaiAuth: true,
};

describe("built-in providers", () => {
  it("openai is complete without any configuration", () => {
    expect(findProvider("openai", {}, {})).toEqual(OPENAI);
  });

  it.each([
    [{}, { OPENAI_BASE_URL: "http://proxy/v1" }, "http://proxy/v1"],
    [{}, { OPENAI_BASE_URL: "  " }, "https://api.openai.com/v1"],
    [{ openai_base_url: "http://mine/v1" }, { OPENAI_BASE_URL: "http://proxy/v1" }, "http://mine/v1"],
  ])("openai with %j and %j is at %s", (settings, env, baseUrl) => {
    expect(findProvider("openai", settings, env)).toEqual({ ...OPENAI, baseUrl });
  });

  it("the local ones need no login", () => {
    const local = { ...OPENAI, envHttpHeaders: {}, requiresOpenaiAuth: false };
    expect(["ollama", "ollama-chat", "lmstudio"].map((id) => findProvider(id, {}, {}))).toEqual([
      { ...local, id: "ollama", name: "Ollama", baseUrl: "http://localhost:11434/v1" },
      { ...local, id: "ollama-chat", name: "Ollama", baseUrl: "http://localhost:11434/v1", wireApi: "chat" },
      { ...local, id: "lmstudio", name: "LM Studio", baseUrl: "http://localhost:1234/v1" },
    ]);
  });

  it("cannot be redefined, and a notice says so", () => {
    const settings = { model_providers: { openai: { name: "Mine", base_url: "http://mine" }, other: { name: "Other" } } };
    expect(findProvider("openai", settings, {})).toEqual(OPENAI);
    expect(providerNotices(settings)).toEqual([
      "model_providers.openai is ignored because `openai` is a built-in provider; give yours another name",
    ]);
  });
});

describe("configured providers", () => {
  it("carry every key", () => {
    const settings = {
      model_providers: {
        azure: {
          name: "Azure",
          base_url: "https://x.example/openai",
          wire_api: "chat",
          env_key: "AZURE_KEY",
          env_key_instructions: "Ask the portal.",
          experimental_bearer_token: "t",
          http_headers: { "X-Team": "a" },
          env_http_headers: { "X-Trace": "TRACE" },
          query_params: { "api-version": "2025-04-01" },
          request_max_retries: 1,
          stream_max_retries: 2,
          stream_idle_timeout_ms: 3,
          requires_openai_auth: true,
        },
      },
    };
    expect(findProvider("azure", settings, {})).toEqual({
      id: "azure",
      name: "Azure",
      baseUrl: "https://x.example/openai",
      wireApi: "chat",
      envKey: "AZURE_KEY",
      envKeyInstructions: "Ask the portal.",
      bearerToken: "t",
      httpHeaders: { "X-Team": "a" },
      envHttpHeaders: { "X-Trace": "TRACE" },
      queryParams: { "api-version": "2025-04-01" },
      requestMaxRetries: 1,
      streamMaxRetries: 2,
      streamIdleTimeoutMs: 3,
      requiresOpenaiAuth: true,
    });
  });

  it("speak the Responses API to OpenAI's address by default", () => {
    expect(findProvider("plain", { model_providers: { plain: { name: "Plain" } } }, { OPENAI_BASE_URL: "http://proxy" })).toEqual({
      ...OPENAI,
      id: "plain",
      name: "Plain",
      envHttpHeaders: {},
      requiresOpenaiAuth: false,
    });
  });

  it("retry a hundred times at most, and wait no longer than the longest possible timer", () => {
    const eager = { name: "Eager", request_max_retries: 1000, stream_max_retries: 101, stream_idle_timeout_ms: 2 ** 40 };
    expect(findProvider("eager", { model_providers: { eager } }, {})).toMatchObject({
      requestMaxRetries: 100,
      streamMaxRetries: 100,
      streamIdleTimeoutMs: 2_147_483_647,
    });
  });

  it("are unknown by any other name", () => {
    const settings = { model_providers: { mine: { name: "Mine" } } };
    expect([findProvider("nobody", settings, {}), findProvider("constructor", settings, {})]).toEqual([undefined, undefined]);
  });
});

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

  it("has all settings of a program, and expands nothing", () => {
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

  it("has all settings of an HTTP server", () => {
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

  it("omits disabled servers, and keeps the order", () => {
    const settings = { mcp_servers: { b: { command: "b" }, off: { command: "off", enabled: false }, a: { command: "a" } } };
    expect(mcpServers(settings).map(({ name }) => name)).toEqual(["b", "a"]);
  });

  it("waits no longer than the longest possible timer", () => {
    const [server] = mcpServers({ mcp_servers: { slow: { command: "slow", startup_timeout_sec: 1e9, tool_timeout_sec: 1e9 } } });
    expect([server?.startupTimeoutMs, server?.toolTimeoutMs]).toEqual([2 ** 31 - 1, 2 ** 31 - 1]);
  });
});
