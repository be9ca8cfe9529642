import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { settingsIn, tempHome } from "../../../../test/support/threads/rollouts.js";
import type { ModelProvider } from "../../../threads/settings.js";
import { ModelFailure } from "./client.js";
import { endpoint, findBearerToken, providerHeaders, readRateLimits, shownUrl } from "./provider.js";

function providerWith(changes: Partial<ModelProvider>): ModelProvider {
  return { ...settingsIn("/").provider, ...changes };
}

describe("the address of a provider", () => {
  it.each([
    ["http://model", "http://model/responses"],
    ["http://model/", "http://model/responses"],
    ["https://model:8443/api/v1", "https://model:8443/api/v1/responses"],
    ["https://model/api/v1//", "https://model/api/v1/responses"],
    ["https://model/v1?tenant=a", "https://model/v1/responses?tenant=a"],
  ])("%s", (baseUrl, url) => {
    expect(endpoint(providerWith({ baseUrl }), "responses").href).toBe(url);
  });

  it("carries the configured query, encoded", () => {
    const queryParams = { "api-version": "2026-01-01", tag: "a b&c" };
    expect(endpoint(providerWith({ baseUrl: "https://model/v1", queryParams }), "models").href).toBe(
      "https://model/v1/models?api-version=2026-01-01&tag=a+b%26c",
    );
  });

  it("is shown without possible secrets", () => {
    const url = endpoint(providerWith({ baseUrl: "https://user:pass@model:8443/v1", queryParams: { key: "secret" } }), "responses");
    expect(shownUrl(url)).toBe("https://model:8443/v1/responses");
  });

  it("is shown with the version of the API", () => {
    const queryParams = { "api-version": "2026-01-01", key: "secret" };
    const url = endpoint(providerWith({ baseUrl: "https://model/v1", queryParams }), "responses");
    expect(shownUrl(url)).toBe("https://model/v1/responses?api-version=2026-01-01");
  });

  it.each(["", "model/v1", "localhost:11434/v1", "ftp://model/v1"])(
    "that is no web address is a failure with the remedy: %s",
    (baseUrl) => {
      expect(() => endpoint(providerWith({ id: "mine", baseUrl }), "responses")).toThrow(
        expect.objectContaining({
          message: "The base_url of provider `mine` must begin with http:// or https://. Correct it in config.toml.",
          retry: "never",
        }),
      );
    },
  );
});

describe("the headers of a provider", () => {
  const codexHome = "/nowhere";

  it("are its own, those in its variables, and its key", () => {
    const asked = providerWith({
      envKey: "KEY",
      httpHeaders: { "X-Team": "blue", "X-Both": "fixed" },
      envHttpHeaders: { "X-Org": "ORG", "X-Both": "BOTH", "X-Unset": "UNSET", "X-Blank": "BLANK" },
    });
    expect(providerHeaders(asked, { codexHome, env: { KEY: "k", ORG: " acme ", BOTH: "from env", BLANK: "  " } })).toEqual({
      "x-team": "blue",
      "x-org": "acme",
      "x-both": "from env",
      authorization: "Bearer k",
    });
  });

  it("contain no key if the provider needs none", () => {
    const env = { OPENAI_API_KEY: "k", CODEX_API_KEY: "k" };
    expect(providerHeaders(providerWith({}), { codexHome, env })).toEqual({});
    expect(providerHeaders(providerWith({ httpHeaders: { Authorization: "Basic own" } }), { codexHome, env })).toEqual({
      authorization: "Basic own",
    });
  });
});

const ALL_KEYS = { MY_KEY: "own", CODEX_API_KEY: "codex", OPENAI_API_KEY: "openai" };
const OPENAI = { requiresOpenaiAuth: true };
const CHATGPT_LOGIN = JSON.stringify({ OPENAI_API_KEY: null, tokens: { access_token: "secret-token" } });

interface Situation {
  readonly provider: Partial<ModelProvider>;
  readonly env?: NodeJS.ProcessEnv;
  readonly authJson?: string;
}

function tokenFor({ provider, env = {}, authJson }: Situation): string | undefined {
  using home = tempHome();
  if (authJson !== undefined) writeFileSync(path.join(home.path, "auth.json"), authJson);
  return findBearerToken({ ...settingsIn("/").provider, ...provider }, { env, codexHome: home.path });
}

function failureFor(situation: Situation): { message: string; retry: string; info: unknown } {
  try {
    tokenFor(situation);
  } catch (error) {
    if (error instanceof ModelFailure) return { message: error.message, retry: error.retry, info: error.info };
    throw error;
  }
  throw new Error("a token was found");
}

describe("the key for a provider", () => {
  const authJson = JSON.stringify({ OPENAI_API_KEY: "stored" });

  it("comes from its own variable before all others", () => {
    expect(tokenFor({ provider: { ...OPENAI, envKey: "MY_KEY", bearerToken: "written" }, env: ALL_KEYS, authJson })).toBe("own");
  });

  it("comes from its table in config.toml next", () => {
    expect(tokenFor({ provider: { ...OPENAI, bearerToken: "written" }, env: ALL_KEYS, authJson })).toBe("written");
  });

  it("comes from CODEX_API_KEY, then auth.json, then OPENAI_API_KEY", () => {
    const { OPENAI_API_KEY } = ALL_KEYS;
    expect(tokenFor({ provider: OPENAI, env: ALL_KEYS, authJson })).toBe("codex");
    expect(tokenFor({ provider: OPENAI, env: { OPENAI_API_KEY }, authJson })).toBe("stored");
    expect(tokenFor({ provider: OPENAI, env: { OPENAI_API_KEY } })).toBe("openai");
  });

  it("is trimmed, and a blank one counts as none", () => {
    const blank = JSON.stringify({ OPENAI_API_KEY: " " });
    expect(tokenFor({ provider: OPENAI, env: { CODEX_API_KEY: " ", OPENAI_API_KEY: " openai\n" }, authJson: blank })).toBe("openai");
  });

  it("is never sent to a provider that it is not configured for", () => {
    expect(tokenFor({ provider: {}, env: ALL_KEYS, authJson })).toBeUndefined();
  });

  it("that is missing in its own variable is not replaced by another", () => {
    expect(failureFor({ provider: { ...OPENAI, envKey: "MY_KEY" }, env: { OPENAI_API_KEY: "openai" }, authJson })).toEqual({
      message: "Missing environment variable: `MY_KEY`.",
      retry: "never",
      info: "other",
    });
  });

  it("that is missing in its own variable is explained in the provider's words", () => {
    const provider = { envKey: "MY_KEY", envKeyInstructions: "Create one at example.org." };
    expect(failureFor({ provider, env: { MY_KEY: "" } }).message).toBe(
      "Missing environment variable: `MY_KEY`. Create one at example.org.",
    );
  });

  it("that is missing everywhere causes an error that says what to set", () => {
    expect(failureFor({ provider: OPENAI })).toEqual({
      message:
        "No API key for the OpenAI provider: set OPENAI_API_KEY (or CODEX_API_KEY) in this server's environment, put a key into auth.json in CODEX_HOME, " +
        "or choose another provider with model_provider in config.toml.",
      retry: "never",
      info: "unauthorized",
    });
  });
});

describe("a ChatGPT login in auth.json", () => {
  it("is left to the Codex CLI, with the remedy", () => {
    expect(failureFor({ provider: OPENAI, authJson: CHATGPT_LOGIN })).toEqual({
      message:
        "auth.json holds a ChatGPT login, which only the Codex CLI itself may use. Set OPENAI_API_KEY (or CODEX_API_KEY) in this server's environment, " +
        "or choose another provider with model_provider in config.toml.",
      retry: "never",
      info: "unauthorized",
    });
  });

  it("does not prevent the use of a key", () => {
    expect(tokenFor({ provider: OPENAI, env: { OPENAI_API_KEY: "openai" }, authJson: CHATGPT_LOGIN })).toBe("openai");
  });
});

describe("an auth.json that cannot be understood", () => {
  const broken = '{"OPENAI_API_KEY": "sec';

  it("is reported as broken, without its content", () => {
    expect(failureFor({ provider: OPENAI, authJson: broken, env: { OPENAI_API_KEY: "openai" } })).toEqual({
      message: "auth.json in CODEX_HOME is not valid JSON: log in again, or remove it.",
      retry: "never",
      info: "other",
    });
  });

  it("is not read when a key has precedence", () => {
    expect(tokenFor({ provider: OPENAI, authJson: broken, env: { CODEX_API_KEY: "codex" } })).toBe("codex");
    expect(tokenFor({ provider: {}, authJson: broken })).toBeUndefined();
  });

  it.each(["null", "[]", '"text"', '{"OPENAI_API_KEY": 5, "tokens": null}'])("holds no key: %s", (authJson) => {
    expect(tokenFor({ provider: OPENAI, authJson, env: { OPENAI_API_KEY: "openai" } })).toBe("openai");
  });

  it("is reported as unreadable when it is not a file", () => {
    using home = tempHome();
    mkdirSync(path.join(home.path, "auth.json"));
    const provider = { ...settingsIn("/").provider, ...OPENAI };
    expect(() => findBearerToken(provider, { env: {}, codexHome: home.path })).toThrow(
      "auth.json in CODEX_HOME cannot be read: check its permissions.",
    );
  });

  it("does not exist if CODEX_HOME does not", () => {
    const provider = { ...settingsIn("/").provider, ...OPENAI };
    expect(findBearerToken(provider, { env: { OPENAI_API_KEY: "openai" }, codexHome: "/nowhere/at/all" })).toBe("openai");
  });
});

it("limits are read from the headers of an answer", () => {
  expect(
    readRateLimits({
      "x-codex-primary-used-percent": "12.5",
      "x-codex-primary-window-minutes": "300",
      "x-codex-primary-reset-at": "1767225600",
      "x-codex-secondary-used-percent": "3",
      "x-codex-credits-has-credits": "true",
      "x-codex-credits-unlimited": "False",
      "x-codex-credits-balance": "9.99",
    }),
  ).toEqual({
    primary: { used_percent: 12.5, window_minutes: 300, resets_at: 1767225600 },
    secondary: { used_percent: 3, window_minutes: null, resets_at: null },
    credits: { has_credits: true, unlimited: false, balance: "9.99" },
    plan_type: null,
  });
});

it("credits without a balance have none", () => {
  expect(readRateLimits({ "x-codex-credits-has-credits": "1", "x-codex-credits-unlimited": "1", "x-codex-credits-balance": "" })).toEqual({
    primary: null,
    secondary: null,
    credits: { has_credits: true, unlimited: true, balance: null },
    plan_type: null,
  });
});

it.each([
  {},
  { "content-type": "text/event-stream" },
  { "x-codex-primary-window-minutes": "300" },
  { "x-codex-primary-used-percent": "0", "x-codex-primary-window-minutes": "0" },
  { "x-codex-primary-used-percent": "much" },
  { "x-codex-primary-used-percent": " " },
  { "x-codex-primary-used-percent": ["1", "2"] },
  { "x-codex-credits-has-credits": "true" },
])("headers without a limit: %j", (headers) => {
  expect(readRateLimits(headers)).toBeUndefined();
});
