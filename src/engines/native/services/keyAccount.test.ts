import { lstatSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { settingsIn, tempHome } from "../../../../test/support/threads/rollouts.js";
import type { Account } from "../../../threads/engineServices.js";
import type { ModelProvider } from "../../../threads/settings.js";
import { ReportedLimits } from "../model/provider.js";
import { ApiKeyInvalid, keyAccount, LoginNotKept, LoginNotPossible } from "./keyAccount.js";

const KEY = "sk-0123456789";
const TOKENS = { access_token: "secret-token" };

interface Opened extends Disposable {
  readonly account: Account;
  readonly codexHome: string;
  readonly limits: ReportedLimits;
  authJson(): unknown;
}

interface Situation {
  readonly provider?: Partial<ModelProvider>;
  readonly env?: NodeJS.ProcessEnv;
  readonly authJson?: unknown;
  /** A path for CODEX_HOME inside the temporary folder. */
  readonly below?: string;
}

function open({ provider = { requiresOpenaiAuth: true }, env = {}, authJson, below = "" }: Situation = {}): Opened {
  const home = tempHome();
  const limits = new ReportedLimits();
  const codexHome = path.join(home.path, below);
  const file = path.join(codexHome, "auth.json");
  if (authJson !== undefined) writeFileSync(file, typeof authJson === "string" ? authJson : JSON.stringify(authJson));
  return {
    account: keyAccount(() => ({ ...settingsIn("/").provider, ...provider }), { env, codexHome }, limits),
    codexHome,
    limits,
    authJson: () => JSON.parse(readFileSync(file, "utf8")),
    [Symbol.dispose]: () => home[Symbol.dispose](),
  };
}

describe("the state of an account", () => {
  it.each<[string, Situation, unknown]>([
    ["a variable of the provider", { provider: { envKey: "MY_KEY" }, env: { MY_KEY: KEY } }, "environment variable MY_KEY"],
    ["a key written down", { provider: { id: "mine", bearerToken: KEY } }, "experimental_bearer_token of provider mine in config.toml"],
    ["CODEX_API_KEY", { env: { CODEX_API_KEY: KEY }, authJson: { OPENAI_API_KEY: KEY } }, "environment variable CODEX_API_KEY"],
    ["auth.json", { env: { OPENAI_API_KEY: KEY }, authJson: { OPENAI_API_KEY: KEY } }, "auth.json in CODEX_HOME"],
    ["OPENAI_API_KEY", { env: { OPENAI_API_KEY: KEY } }, "environment variable OPENAI_API_KEY"],
    [
      "a login that is of no use",
      { provider: { id: "local" }, authJson: { OPENAI_API_KEY: KEY } },
      "auth.json in CODEX_HOME, which provider local does not need",
    ],
  ])("names where the key comes from: %s", async (_what, situation, source) => {
    using opened = open(situation);
    expect(await opened.account.state()).toEqual({ kind: "apiKey", source });
  });

  it.each<[string, Situation, RegExp]>([
    ["no key anywhere", {}, /set OPENAI_API_KEY/],
    ["an empty variable", { provider: { envKey: "MY_KEY", envKeyInstructions: "Ask Ann." } }, /`MY_KEY`. Ask Ann\.$/],
    ["a login that only Codex may use", { authJson: { OPENAI_API_KEY: null, tokens: TOKENS } }, /ChatGPT login/],
    ["a broken auth.json", { authJson: "{" }, /not valid JSON/],
  ])("says what to do if there is none: %s", async (_what, situation, remedy) => {
    using opened = open(situation);
    expect(await opened.account.state()).toEqual({ kind: "none", isNeeded: true, remedy: expect.stringMatching(remedy) });
  });

  it.each<[string, unknown]>([
    ["nothing", undefined],
    ["a broken auth.json", "{"],
  ])("does not exist if the provider needs none: %s", async (_what, authJson) => {
    using opened = open({ provider: {}, authJson });
    expect(await opened.account.state()).toEqual({ kind: "none", isNeeded: false });
  });
});

describe("a login with a key", () => {
  it("is written for its owner alone, in one step, into a folder that need not be there", async () => {
    using opened = open({ below: "new/home" });
    await opened.account.loginWithKey(` ${KEY}\n`);
    expect(opened.authJson()).toEqual({ OPENAI_API_KEY: KEY });
    expect(statSync(path.join(opened.codexHome, "auth.json")).mode & 0o777).toBe(0o600);
    expect(readdirSync(opened.codexHome)).toEqual(["auth.json"]);
    expect(await opened.account.state()).toEqual({ kind: "apiKey", source: "auth.json in CODEX_HOME" });
  });

  it("keeps the rest of the file, and replaces an old key", async () => {
    using opened = open({ authJson: { OPENAI_API_KEY: "old", tokens: TOKENS, last_refresh: "then" } });
    await opened.account.loginWithKey(KEY);
    expect(opened.authJson()).toEqual({ OPENAI_API_KEY: KEY, tokens: TOKENS, last_refresh: "then" });
  });

  it("repairs a broken file", async () => {
    using opened = open({ authJson: "{" });
    await opened.account.loginWithKey(KEY);
    expect(opened.authJson()).toEqual({ OPENAI_API_KEY: KEY });
  });

  it("follows a link instead of replacing it", async () => {
    using opened = open();
    const [link, file] = [path.join(opened.codexHome, "auth.json"), path.join(opened.codexHome, "elsewhere.json")];
    writeFileSync(file, "{}");
    symlinkSync(file, link);
    await opened.account.loginWithKey(KEY);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ OPENAI_API_KEY: KEY });
  });

  it("that happens many times in parallel leaves one complete file", async () => {
    using opened = open();
    const keys = Array.from({ length: 20 }, (_, at) => `${KEY}-${at}`);
    await Promise.all(keys.map((key) => opened.account.loginWithKey(key)));
    expect(keys.map((key) => ({ OPENAI_API_KEY: key }))).toContainEqual(opened.authJson());
    expect(readdirSync(opened.codexHome)).toEqual(["auth.json"]);
  });

  it.each(["", "  ", "two words", "line\nbreak", "schlüssel", "x".repeat(5000)])("is refused when that is no key: %j", async (key) => {
    using opened = open();
    await expect(opened.account.loginWithKey(key)).rejects.toThrow(ApiKeyInvalid);
    expect(readdirSync(opened.codexHome)).toEqual([]);
  });

  it("reports an error without the key if it cannot be stored", async () => {
    using opened = open();
    const file = path.join(opened.codexHome, "file");
    writeFileSync(file, "");
    const account = keyAccount(() => settingsIn("/").provider, { env: {}, codexHome: path.join(file, "home") }, new ReportedLimits());
    const refusal: unknown = await account.loginWithKey(KEY).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(LoginNotKept);
    expect(String(refusal)).not.toContain(KEY);
  });
});

describe("a logout", () => {
  it("removes the key from auth.json, and the file if it has no other content", async () => {
    using opened = open({ authJson: { auth_mode: "apikey", OPENAI_API_KEY: KEY } });
    await opened.account.logout();
    expect(readdirSync(opened.codexHome)).toEqual([]);
    await opened.account.logout();
  });

  it("leaves the ChatGPT login of Codex beside the key, and says so when there is nothing else", async () => {
    using opened = open({ authJson: { OPENAI_API_KEY: KEY, tokens: TOKENS } });
    await opened.account.logout();
    expect(opened.authJson()).toEqual({ OPENAI_API_KEY: null, tokens: TOKENS });
    await expect(opened.account.logout()).rejects.toThrow(/belongs to the Codex CLI and was not removed/);
    expect(opened.authJson()).toEqual({ OPENAI_API_KEY: null, tokens: TOKENS });
  });

  it("says where the key is if the server may not remove it", async () => {
    using opened = open({ env: { OPENAI_API_KEY: KEY } });
    await expect(opened.account.logout()).rejects.toThrow(/comes from environment variable OPENAI_API_KEY/);
  });
});

describe("a login with a device code", () => {
  it("is offered by Codex only", async () => {
    using opened = open();
    const refusal: unknown = await opened.account.loginWithDeviceCode().catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(LoginNotPossible);
    expect(String(refusal)).toMatch(/--engine codex.*`codex login`/);
  });
});

it("an account has the limits of its provider's last answer, and not another provider's", async () => {
  using opened = open({ env: { OPENAI_API_KEY: KEY } });
  const { provider } = settingsIn("/");
  opened.limits.record({ ...provider, id: "other" }, { "x-codex-primary-used-percent": "99" });
  expect(await opened.account.state()).not.toHaveProperty("limits");
  opened.limits.record(provider, { "x-codex-primary-used-percent": "12" });
  expect(await opened.account.state()).toMatchObject({ kind: "apiKey", limits: { windows: { primary: { used_percent: 12 } } } });
});
