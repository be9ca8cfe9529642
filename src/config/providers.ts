import type { ModelProvider } from "../threads/settings.js";
import type { Environment } from "./codexHome.js";
import { DEFAULT_REQUEST_RETRIES, DEFAULT_STREAM_IDLE_MS, DEFAULT_STREAM_RETRIES, RETRY_LIMIT, WIRE_APIS } from "./settings/providers.js";
import { LONGEST_TIMER_MS } from "./timers.js";
import { type ConfigTree, choiceAt, flagAt, numberAt, tableAt, textAt, textMapAt } from "./tree.js";

const OPENAI_URL = "https://api.openai.com/v1";

const BUILT_IN: Readonly<Record<string, (settings: ConfigTree, env: Environment) => ModelProvider>> = {
  openai: openaiProvider,
  ollama: () => localProvider({ id: "ollama", name: "Ollama", baseUrl: "http://localhost:11434/v1" }),
  "ollama-chat": () => localProvider({ id: "ollama-chat", name: "Ollama", baseUrl: "http://localhost:11434/v1", wireApi: "chat" }),
  lmstudio: () => localProvider({ id: "lmstudio", name: "LM Studio", baseUrl: "http://localhost:1234/v1" }),
};

/** A provider by its id, defaults filled in; undefined when nobody configured it. A built-in one cannot be redefined. */
export function findProvider(id: string, settings: ConfigTree, env: Environment): ModelProvider | undefined {
  if (Object.hasOwn(BUILT_IN, id)) return BUILT_IN[id]?.(settings, env);
  const configured = tableAt(settings, "model_providers");
  return Object.hasOwn(configured, id) ? configuredProvider(id, tableAt(configured, id)) : undefined;
}

/** Remarks on entries of `model_providers` that have no effect. */
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

function openaiProvider(settings: ConfigTree, env: Environment): ModelProvider {
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
