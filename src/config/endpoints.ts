import { LONGEST_TIMER_MS } from "../lib/promises.js";
import type { McpServerSettings, McpServerTransport, ModelProvider } from "../threads/settings.js";
import { DEFAULT_REQUEST_RETRIES, DEFAULT_STREAM_IDLE_MS, DEFAULT_STREAM_RETRIES, RETRY_LIMIT, WIRE_APIS } from "./schema/providers.js";
import type { ConfigTree } from "./schema/settingTypes.js";
import { choiceAt, flagAt, numberAt, tableAt, textAt, textMapAt, textsAt } from "./tree.js";

const OPENAI_URL = "https://api.openai.com/v1";

const BUILT_IN: Readonly<Record<string, (settings: ConfigTree, env: Readonly<NodeJS.ProcessEnv>) => ModelProvider>> = {
  openai: openaiProvider,
  ollama: () => localProvider({ id: "ollama", name: "Ollama", baseUrl: "http://localhost:11434/v1" }),
  "ollama-chat": () => localProvider({ id: "ollama-chat", name: "Ollama", baseUrl: "http://localhost:11434/v1", wireApi: "chat" }),
  lmstudio: () => localProvider({ id: "lmstudio", name: "LM Studio", baseUrl: "http://localhost:1234/v1" }),
};

/** A provider by its id, defaults filled in; undefined when it is not configured. A built-in one cannot be redefined. */
export function findProvider(id: string, settings: ConfigTree, env: Readonly<NodeJS.ProcessEnv>): ModelProvider | undefined {
  if (Object.hasOwn(BUILT_IN, id)) return BUILT_IN[id]?.(settings, env);
  const configured = tableAt(settings, "model_providers");
  return Object.hasOwn(configured, id) ? configuredProvider(id, tableAt(configured, id)) : undefined;
}

/** Notices about entries of `model_providers` that have no effect. */
export function providerNotices(settings: ConfigTree): string[] {
  return Object.keys(tableAt(settings, "model_providers"))
    .filter((id) => Object.hasOwn(BUILT_IN, id))
    .map((id) => `model_providers.${id} is ignored because \`${id}\` is a built-in provider; give yours another name`);
}

function configuredProvider(id: string, entry: ConfigTree): ModelProvider {
  return {
    id,
    name: textAt(entry, "name") ?? id,
    baseUrl: textAt(entry, "base_url") ?? OPENAI_URL,
    wireApi: choiceAt(entry, "wire_api", WIRE_APIS) ?? "responses",
    envKey: textAt(entry, "env_key"),
    envKeyInstructions: textAt(entry, "env_key_instructions"),
    bearerToken: textAt(entry, "experimental_bearer_token"),
    httpHeaders: textMapAt(entry, "http_headers"),
    envHttpHeaders: textMapAt(entry, "env_http_headers"),
    queryParams: textMapAt(entry, "query_params"),
    requestMaxRetries: Math.min(numberAt(entry, "request_max_retries") ?? DEFAULT_REQUEST_RETRIES, RETRY_LIMIT),
    streamMaxRetries: Math.min(numberAt(entry, "stream_max_retries") ?? DEFAULT_STREAM_RETRIES, RETRY_LIMIT),
    streamIdleTimeoutMs: Math.min(numberAt(entry, "stream_idle_timeout_ms") ?? DEFAULT_STREAM_IDLE_MS, LONGEST_TIMER_MS),
    requiresOpenaiAuth: flagAt(entry, "requires_openai_auth") ?? false,
  };
}

function openaiProvider(settings: ConfigTree, env: Readonly<NodeJS.ProcessEnv>): ModelProvider {
  return {
    ...localProvider({
      id: "openai",
      name: "OpenAI",
      baseUrl: textAt(settings, "openai_base_url") ?? (env.OPENAI_BASE_URL?.trim() || OPENAI_URL),
    }),
    envHttpHeaders: { "OpenAI-Organization": "OPENAI_ORGANIZATION", "OpenAI-Project": "OPENAI_PROJECT" },
    requiresOpenaiAuth: true,
  };
}

function localProvider(known: Pick<ModelProvider, "id" | "name" | "baseUrl"> & Partial<Pick<ModelProvider, "wireApi">>): ModelProvider {
  return {
    wireApi: "responses",
    httpHeaders: {},
    envHttpHeaders: {},
    queryParams: {},
    requestMaxRetries: DEFAULT_REQUEST_RETRIES,
    streamMaxRetries: DEFAULT_STREAM_RETRIES,
    streamIdleTimeoutMs: DEFAULT_STREAM_IDLE_MS,
    requiresOpenaiAuth: false,
    ...known,
  };
}

const DEFAULT_STARTUP_MS = 10_000;
const DEFAULT_TOOL_MS = 60_000;

/** The enabled entries of `mcp_servers`, in file order. Values are used unchanged: nothing is expanded. */
export function mcpServers(settings: ConfigTree): McpServerSettings[] {
  const configured = tableAt(settings, "mcp_servers");
  return Object.keys(configured)
    .map((name) => ({ name, entry: tableAt(configured, name) }))
    .filter(({ entry }) => flagAt(entry, "enabled") ?? true)
    .map(({ name, entry }) => ({
      name,
      transport: transportOf(entry),
      startupTimeoutMs: timer(secondsAt(entry, "startup_timeout_sec") ?? numberAt(entry, "startup_timeout_ms") ?? DEFAULT_STARTUP_MS),
      toolTimeoutMs: timer(secondsAt(entry, "tool_timeout_sec") ?? DEFAULT_TOOL_MS),
      enabledTools: textsAt(entry, "enabled_tools"),
      disabledTools: textsAt(entry, "disabled_tools") ?? [],
    }));
}

function transportOf(entry: ConfigTree): McpServerTransport {
  const command = textAt(entry, "command");
  if (command !== undefined) {
    return {
      kind: "program",
      command,
      args: textsAt(entry, "args") ?? [],
      env: textMapAt(entry, "env"),
      envVars: textsAt(entry, "env_vars") ?? [],
      cwd: textAt(entry, "cwd"),
    };
  }
  return {
    kind: "http",
    url: textAt(entry, "url") ?? "",
    bearerTokenEnvVar: textAt(entry, "bearer_token_env_var"),
    httpHeaders: textMapAt(entry, "http_headers"),
    envHttpHeaders: textMapAt(entry, "env_http_headers"),
  };
}

function secondsAt(entry: ConfigTree, key: string): number | undefined {
  const seconds = numberAt(entry, key);
  return seconds === undefined ? undefined : seconds * 1000;
}

function timer(ms: number): number {
  return Math.min(ms, LONGEST_TIMER_MS);
}
