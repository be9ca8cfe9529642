import path from "node:path";
import { type ClientStage, PROMPT, type RealClient, type ServerEntry, type Snippet } from "./client.js";

/** Coding agents with a command line of their own. */
export const AGENT_PROGRAMS: readonly RealClient[] = [
  {
    id: "claude",
    title: "Claude Code",
    packages: ["@anthropic-ai/claude-code@2.1.325"],
    needsScripts: true,
    limit: "28 h (`MCP_TOOL_TIMEOUT`)",
    snippet: jsonSnippet("`.mcp.json`, or `claude mcp add codex -- npx -y codex-mcpd`", (server) =>
      mcpServers({ type: kind(server), ...server }),
    ),
    start: (stage) => ({
      files: { [at(stage.home, "mcp.json")]: json(mcpServers({ type: kind(stage.server), ...stage.server })) },
      command: [
        program(stage, "claude"),
        "-p",
        PROMPT,
        "--mcp-config",
        at(stage.home, "mcp.json"),
        "--strict-mcp-config",
        "--allowedTools",
        "mcp__codex",
      ],
      env: { ANTHROPIC_BASE_URL: stage.model, ANTHROPIC_API_KEY: "sk-ant-mock", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" },
    }),
  },
  {
    id: "codex",
    title: "Codex CLI",
    packages: ["@openai/codex@0.166.0"],
    limit: "300 s (`tool_timeout_sec`)",
    snippet: { place: "`~/.codex/config.toml`, or `codex mcp add codex -- npx -y codex-mcpd`", language: "toml", text: codexToml },
    remark:
      "it was run with its own approvals off (`--dangerously-bypass-approvals-and-sandbox`). Then it approves our questions without asking anybody.",
    start: (stage) => ({
      files: {
        [at(stage.home, ".codex/config.toml")]: [
          'model = "mock-model"',
          'model_provider = "mock"',
          "[model_providers.mock]",
          'name = "mock"',
          `base_url = "${stage.model}/v1"`,
          'wire_api = "responses"',
          codexToml(stage.server),
        ].join("\n"),
      },
      command: [program(stage, "codex"), "exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", PROMPT],
      env: { CODEX_HOME: at(stage.home, ".codex") },
    }),
  },
  {
    id: "gemini",
    title: "Gemini CLI",
    packages: ["@google/gemini-cli@0.61.0"],
    limit: "600 s (`timeout`, ms)",
    snippet: jsonSnippet("`~/.gemini/settings.json`", (server) => mcpServers(httpUrl(server))),
    start: (stage) => ({
      files: {
        [at(stage.home, ".gemini/settings.json")]: json({
          ...mcpServers({ ...httpUrl(stage.server), trust: true }),
          security: { auth: { selectedType: "gemini-api-key" }, folderTrust: { enabled: false } },
          general: { disableAutoUpdate: true },
          privacy: { usageStatisticsEnabled: false },
        }),
      },
      command: [program(stage, "gemini"), "-m", "gemini-2.5-pro", "--yolo", "-p", PROMPT],
      env: { GEMINI_API_KEY: "mock", GOOGLE_GEMINI_BASE_URL: stage.model, GEMINI_CLI_NO_RELAUNCH: "true" },
    }),
  },
  {
    id: "qwen",
    title: "Qwen Code",
    packages: ["@qwen-code/qwen-code@0.24.4"],
    limit: "600 s (`timeout`, ms)",
    snippet: jsonSnippet("`~/.qwen/settings.json`", (server) => mcpServers(httpUrl(server))),
    start: (stage) => ({
      files: {
        [at(stage.home, ".qwen/settings.json")]: json({
          ...mcpServers({ ...httpUrl(stage.server), trust: true }),
          security: { auth: { selectedType: "openai" } },
          general: { disableAutoUpdate: true },
          privacy: { usageStatisticsEnabled: false },
        }),
      },
      command: [program(stage, "qwen"), "--yolo", "-p", PROMPT],
      env: { OPENAI_API_KEY: "mock", OPENAI_BASE_URL: `${stage.model}/v1`, OPENAI_MODEL: "mock-model" },
    }),
  },
  {
    id: "opencode",
    title: "OpenCode",
    packages: ["opencode-ai@1.18.33"],
    needsScripts: true,
    limit: "60 s since the last progress",
    snippet: jsonSnippet("`~/.config/opencode/opencode.json`", opencodeEntry),
    start: (stage) => ({
      files: {
        [at(stage.workspace, "opencode.json")]: json({
          ...opencodeEntry(stage.server),
          model: "mock/mock-model",
          small_model: "mock/mock-model",
          autoupdate: false,
          share: "disabled",
          provider: {
            mock: {
              npm: "@ai-sdk/openai-compatible",
              name: "Mock",
              options: { baseURL: `${stage.model}/v1`, apiKey: "mock" },
              models: { "mock-model": { name: "mock", tool_call: true, limit: { context: 200_000, output: 8000 } } },
            },
          },
        }),
      },
      command: [program(stage, "opencode"), "run"],
      stdin: PROMPT,
      env: {
        XDG_DATA_HOME: at(stage.home, ".local/share"),
        XDG_CONFIG_HOME: at(stage.home, ".config"),
        XDG_CACHE_HOME: at(stage.home, ".cache"),
        OPENCODE_DISABLE_AUTOUPDATE: "1",
      },
    }),
  },
  {
    id: "copilot",
    title: "Copilot CLI",
    packages: ["@github/copilot@1.0.102"],
    needsScripts: true,
    limit: "none seen",
    snippet: jsonSnippet("`~/.copilot/mcp-config.json`", copilotEntry),
    start: (stage) => ({
      files: { [at(stage.home, ".copilot/mcp-config.json")]: json(copilotEntry(stage.server)) },
      command: [program(stage, "copilot"), "-p", PROMPT, "--allow-all-tools", "--no-color"],
      env: {
        COPILOT_PROVIDER_BASE_URL: `${stage.model}/v1`,
        COPILOT_PROVIDER_TYPE: "openai",
        COPILOT_PROVIDER_API_KEY: "mock",
        COPILOT_PROVIDER_WIRE_API: "completions",
        COPILOT_MODEL: "gpt-5",
        COPILOT_OFFLINE: "true",
      },
    }),
  },
  {
    id: "continue",
    title: "Continue CLI",
    packages: ["@continuedev/cli@1.5.47"],
    limit: "60 s",
    snippet: { place: "`~/.continue/config.yaml`", language: "yaml", text: continueYaml },
    start: (stage) => ({
      files: {
        [at(stage.home, "config.yaml")]: [
          "name: clients",
          "version: 0.0.1",
          "schema: v1",
          "models:",
          `  - { name: mock, provider: openai, model: gpt-4o, apiBase: "${stage.model}/v1", apiKey: mock, roles: [chat] }`,
          continueYaml(stage.server),
        ].join("\n"),
      },
      command: [program(stage, "cn"), "-p", "--config", at(stage.home, "config.yaml"), "--auto", PROMPT],
      env: { CONTINUE_GLOBAL_DIR: at(stage.home, ".continue"), CONTINUE_TELEMETRY_ENABLED: "0", CONTINUE_ALLOW_ANONYMOUS_TELEMETRY: "0" },
    }),
  },
  {
    id: "cline",
    title: "Cline CLI",
    packages: ["cline@3.0.65"],
    needsScripts: true,
    limit: "60 s (`timeout`, s)",
    snippet: jsonSnippet("`~/.cline/data/settings/cline_mcp_settings.json`", clineEntry),
    start: (stage) => ({
      files: { [at(stage.home, ".cline/data/settings/cline_mcp_settings.json")]: json(clineEntry(stage.server)) },
      before: [[program(stage, "cline"), "auth", "-p", "openai-compatible", "-k", "mock", "-m", "mock-model", "-b", `${stage.model}/v1`]],
      command: [program(stage, "cline"), "--auto-approve", "true", PROMPT],
      env: { CLINE_DIR: at(stage.home, ".cline") },
    }),
  },
];

function at(...parts: readonly string[]): string {
  return path.join(...parts);
}

function program({ packages }: ClientStage, name: string): string {
  return at(packages, "node_modules", ".bin", name);
}

function json(value: unknown): string {
  return JSON.stringify(value, undefined, 2);
}

function jsonSnippet(place: string, entry: (server: ServerEntry) => unknown): Snippet {
  return { place, language: "json", text: (server) => json(entry(server)) };
}

function mcpServers(entry: unknown): { readonly mcpServers: { readonly codex: unknown } } {
  return { mcpServers: { codex: entry } };
}

function kind(server: ServerEntry): "http" | "stdio" {
  return "url" in server ? "http" : "stdio";
}

function httpUrl(server: ServerEntry): object {
  return "url" in server ? { httpUrl: server.url } : server;
}

function opencodeEntry(server: ServerEntry): object {
  const entry =
    "url" in server
      ? { type: "remote", url: server.url }
      : { type: "local", command: [server.command, ...server.args], ...(server.env && { environment: server.env }) };
  return { mcp: { codex: { ...entry, enabled: true } } };
}

function copilotEntry(server: ServerEntry): object {
  return mcpServers({ type: "url" in server ? "http" : "local", ...server, tools: ["*"] });
}

function clineEntry(server: ServerEntry): object {
  return mcpServers({ ...("url" in server && { type: "streamableHttp" }), ...server, disabled: false });
}

function codexToml(server: ServerEntry): string {
  if ("url" in server) return `[mcp_servers.codex]\nurl = "${server.url}"\n`;
  const lines = ["[mcp_servers.codex]", `command = ${JSON.stringify(server.command)}`, `args = ${JSON.stringify(server.args)}`];
  const env = Object.entries(server.env ?? {}).map(([name, value]) => `${name} = ${JSON.stringify(value)}`);
  return [...lines, ...(env.length > 0 ? ["[mcp_servers.codex.env]", ...env] : []), ""].join("\n");
}

function continueYaml(server: ServerEntry): string {
  const lines =
    "url" in server
      ? ["type: streamable-http", `url: ${server.url}`]
      : [
          `command: ${server.command}`,
          `args: ${JSON.stringify(server.args)}`,
          ...(server.env ? [`env: ${JSON.stringify(server.env)}`] : []),
        ];
  return ["mcpServers:", "  - name: codex", ...lines.map((line) => `    ${line}`), ""].join("\n");
}
