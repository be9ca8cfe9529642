import { active, allInert, choice, flag, integer, mapOf, type SettingGroup, type Settings, table, text } from "./settingTypes.js";

export const WIRE_APIS = ["responses", "responses_websocket", "chat"] as const;

export const DEFAULT_REQUEST_RETRIES = 4;
export const DEFAULT_STREAM_RETRIES = 5;
export const DEFAULT_STREAM_IDLE_MS = 300_000;
export const RETRY_LIMIT = 100;

const PROVIDER_SETTINGS: Settings = {
  name: active(text, "Name for people.", "required"),
  base_url: active(text, "Base URL; requests go to `/responses` below it.", "`https://api.openai.com/v1`"),
  env_key: active(text, "Environment variable that holds the key; a call fails while it is empty."),
  env_key_instructions: active(text, "How to get a key; added to the error of a missing key."),
  experimental_bearer_token: active(text, "The key itself; `env_key` is safer."),
  wire_api: active(choice(WIRE_APIS), "Protocol of the provider; only `responses` is implemented.", "`responses`"),
  query_params: active(mapOf("<name>", text), "Added to every request's URL."),
  http_headers: active(mapOf("<header>", text), "Added to every request."),
  env_http_headers: active(
    mapOf("<header>", text),
    "Headers whose values come from the named environment variables; empty ones are left out.",
  ),
  request_max_retries: active(
    integer("u64"),
    `Retries of a request that was not accepted, at most ${RETRY_LIMIT}.`,
    `\`${DEFAULT_REQUEST_RETRIES}\``,
  ),
  stream_max_retries: active(
    integer("u64"),
    `Retries of an answer that broke off, at most ${RETRY_LIMIT}.`,
    `\`${DEFAULT_STREAM_RETRIES}\``,
  ),
  stream_idle_timeout_ms: active(
    integer("u64"),
    "Time without data after which an answer counts as broken off.",
    `\`${DEFAULT_STREAM_IDLE_MS}\``,
  ),
  requires_openai_auth: active(flag, "Uses your OpenAI login or key.", "`false`"),
  ...allInert(
    "auth",
    "aws",
    "capabilities",
    "credential_file",
    "gateway_oauth",
    "location",
    "model_catalog_url",
    "project_id",
    "supports_standalone_web_search",
    "supports_websockets",
    "websocket_connect_timeout_ms",
  ),
};

export const PROVIDERS_GROUP: SettingGroup = {
  title: "Providers",
  intro:
    "`openai`, `ollama`, `ollama-chat` and `lmstudio` are built in. An entry under one of these names is ignored, and a notice says so: choose another name. Keys without a description are those of newer Codex versions.",
  settings: {
    model_providers: active(mapOf("<id>", table(PROVIDER_SETTINGS, { required: ["name"] })), "Your own providers."),
  },
};
