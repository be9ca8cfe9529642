import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { settingsIn, tempHome } from "../../../../test/support/rollouts.js";
import type { ModelProvider } from "../../../threads/settings.js";
import { ModelFailure } from "./client.js";
import { findBearerToken } from "./credentials.js";

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

  it("is never sent to a provider that did not ask for it", () => {
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

  it("that is nowhere to be found comes with what to set", () => {
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

  it("does not stand in the way of a key", () => {
    expect(tokenFor({ provider: OPENAI, env: { OPENAI_API_KEY: "openai" }, authJson: CHATGPT_LOGIN })).toBe("openai");
  });
});

describe("an auth.json that cannot be understood", () => {
  const broken = '{"OPENAI_API_KEY": "sec';

  it("is said to be broken, without its content", () => {
    expect(failureFor({ provider: OPENAI, authJson: broken, env: { OPENAI_API_KEY: "openai" } })).toEqual({
      message: "auth.json in CODEX_HOME is not valid JSON: log in again, or remove it.",
      retry: "never",
      info: "other",
    });
  });

  it("is not looked at when a key comes before it", () => {
    expect(tokenFor({ provider: OPENAI, authJson: broken, env: { CODEX_API_KEY: "codex" } })).toBe("codex");
    expect(tokenFor({ provider: {}, authJson: broken })).toBeUndefined();
  });

  it.each(["null", "[]", '"text"', '{"OPENAI_API_KEY": 5, "tokens": null}'])("holds no key: %s", (authJson) => {
    expect(tokenFor({ provider: OPENAI, authJson, env: { OPENAI_API_KEY: "openai" } })).toBe("openai");
  });

  it("is said to be unreadable when it is no file", () => {
    using home = tempHome();
    mkdirSync(path.join(home.path, "auth.json"));
    const provider = { ...settingsIn("/").provider, ...OPENAI };
    expect(() => findBearerToken(provider, { env: {}, codexHome: home.path })).toThrow(
      "auth.json in CODEX_HOME cannot be read: check its permissions.",
    );
  });

  it("is not there when CODEX_HOME is not", () => {
    const provider = { ...settingsIn("/").provider, ...OPENAI };
    expect(findBearerToken(provider, { env: { OPENAI_API_KEY: "openai" }, codexHome: "/nowhere/at/all" })).toBe("openai");
  });
});
