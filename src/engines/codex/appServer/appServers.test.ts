import { expect, it } from "vitest";
import type { ModelProvider } from "../../../threads/settings.js";
import { processSettings } from "./appServers.js";
import { CodexRefused } from "./errors.js";

// The tests use only the id of a provider.
const provider = (id: string) => ({ id }) as ModelProvider;

it("a process is started with the provider of its threads", () => {
  expect(processSettings({ provider: provider("openai") })).toEqual(['model_provider="openai"']);
  expect(processSettings({ provider: provider("openai"), stated: { model: "x", model_providers: { other: { name: "y" } } } })).toEqual([
    'model_provider="openai"',
  ]);
});

it("a provider that was described on the command line or in the call is described to the process too", () => {
  const description = { name: 'My "own"', base_url: "http://127.0.0.1/v1", request_max_retries: 2, requires_openai_auth: false };
  const more = { env_http_headers: { "x-key": "MY_KEY" } };
  expect(processSettings({ provider: provider("own"), stated: { model_providers: { own: { ...description, ...more } } } })).toEqual([
    'model_provider="own"',
    'model_providers.own.name="My \\"own\\""',
    'model_providers.own.base_url="http://127.0.0.1/v1"',
    "model_providers.own.request_max_retries=2",
    "model_providers.own.requires_openai_auth=false",
    'model_providers.own.env_http_headers.x-key="MY_KEY"',
  ]);
});

it.each([
  ["a token", "own", { experimental_bearer_token: "secret" }],
  ["a header", "own", { http_headers: { authorization: "secret" } }],
  ["a name that a command line cannot hold", "my own", { name: "x" }],
])("%s does not go onto a command line", (_what, id, description) => {
  const attempt = () => processSettings({ provider: provider(id), stated: { model_providers: { [id]: description } } });
  expect(attempt).toThrow(CodexRefused);
  expect(attempt).not.toThrow(/secret/);
});
