import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ThreadSettings } from "../threads/settings.js";
import type { StoredSettings } from "../threads/store.js";
import { ConfigInvalid } from "./errors.js";
import { parseOverride } from "./layers.js";
import { createSettingsResolver, type NamedSettings, type NewThreadCall, type SettingsResolver } from "./resolve.js";

const MOCK_PROVIDER = '[model_providers.mock]\nname = "mock"\nbase_url = "http://127.0.0.1:1/v1"\n';

describe("precedence", () => {
  const layers: { name: string; toml?: string; overrides?: string[]; named?: NamedSettings; call?: NewThreadCall }[] = [
    { name: "default" },
    { name: "file", toml: 'model = "file"\nsandbox_mode = "danger-full-access"\napproval_policy = "untrusted"\n' },
    {
      name: "profile",
      toml: 'profile = "p"\n[profiles.p]\nmodel = "profile"\nsandbox_mode = "workspace-write"\napproval_policy = "on-failure"\n',
    },
    { name: "-c", overrides: ["model=-c", "sandbox_mode=read-only", "approval_policy=never"] },
    { name: "flag", named: { model: "flag", sandbox: "danger-full-access", approvalPolicy: "untrusted" } },
    { name: "config", call: { config: { model: "config", sandbox_mode: "workspace-write", approval_policy: "on-failure" } } },
    { name: "argument", call: { model: "argument", sandbox: "read-only", approvalPolicy: "never" } },
  ];
  const winners: Record<string, string[]> = {
    default: ["gpt-6.1-sol", "read-only", "on-request"],
    file: ["file", "danger-full-access", "untrusted"],
    profile: ["profile", "workspace-write", "on-failure"],
    "-c": ["-c", "read-only", "never"],
    flag: ["flag", "danger-full-access", "untrusted"],
    config: ["config", "workspace-write", "on-failure"],
    argument: ["argument", "read-only", "never"],
  };

  it.each(layers.map((layer, index) => ({ name: layer.name, upTo: layers.slice(0, index + 1) })))(
    "$name wins over everything weaker",
    ({ name, upTo }) => {
      const resolver = resolverWith({
        toml: upTo.map((layer) => layer.toml ?? "").join(""),
        overrides: upTo.flatMap((layer) => layer.overrides ?? []),
        named: Object.assign({}, ...upTo.map((layer) => layer.named)),
      });
      const settings = resolver.forNewThread(Object.assign({}, ...upTo.map((layer) => layer.call)));
      expect([settings.model, settings.sandboxPolicy.type, settings.approvalPolicy]).toEqual(winners[name]);
    },
  );

  it.each<[string, NewThreadCall, string[], NamedSettings, string]>([
    ["the call's profile", { profile: "e", config: { profile: "d" } }, ["profile=b"], { profile: "c" }, "E"],
    ["the profile in the call's config", { config: { profile: "d" } }, ["profile=b"], { profile: "c" }, "D"],
    ["the profile flag", {}, ["profile=b"], { profile: "c" }, "C"],
    ["the profile of -c", {}, ["profile=b"], {}, "B"],
    ["the profile of config.toml", {}, [], {}, "A"],
  ])("%s is the one used", (_which, call, overrides, named, model) => {
    const profiles = ["a", "b", "c", "d", "e"].map((name) => `[profiles.${name}]\nmodel = "${name.toUpperCase()}"\n`).join("");
    expect(resolverWith({ toml: `profile = "a"\n${profiles}`, overrides, named }).forNewThread(call).model).toBe(model);
  });

  it("instructions of the call win over those of the file", () => {
    const toml = 'developer_instructions = "file"\ncompact_prompt = "file"\nmodel_instructions_file = "gone.md"\n';
    const call = { baseInstructions: "base", developerInstructions: "developer", compactPrompt: "compact" };
    expect(resolverWith({ toml }).forNewThread(call)).toMatchObject(call);
  });

  it("tables are joined across layers", () => {
    const resolver = resolverWith({
      toml: `model_provider = "mock"\n${MOCK_PROVIDER}[features]\nundo = true\n`,
      overrides: ["model_providers.mock.request_max_retries=7"],
    });
    const settings = resolver.forNewThread({ config: { "model_providers.mock.http_headers": { A: "b" }, features: { steer: true } } });
    expect(settings.provider).toMatchObject({ name: "mock", requestMaxRetries: 7, httpHeaders: { A: "b" } });
    expect(settings.features).toMatchObject({ undo: true, steer: true });
  });
});

describe("folders and files", () => {
  it.each<[NamedSettings, NewThreadCall, string]>([
    [{}, {}, "/srv/app"],
    [{}, { cwd: "sub" }, "/srv/app/sub"],
    [{}, { cwd: "/abs" }, "/abs"],
    [{ cwd: "work" }, {}, "/srv/app/work"],
    [{ cwd: "/opt/site" }, { cwd: "../sub" }, "/opt/sub"],
  ])("with flags %j and call %j the thread's folder is %s", (named, call, cwd) => {
    expect(resolverWith({ named }).forNewThread(call).cwd).toBe(cwd);
  });

  it("relative paths count from where they were written", () => {
    const roots = (call: NewThreadCall, overrides: string[] = []) => {
      const toml = 'sandbox_mode = "workspace-write"\n[sandbox_workspace_write]\nwritable_roots = ["cache", "~/shared"]\n';
      const { codexHome, ...resolver } = resolverWith({ toml, overrides });
      const policy = resolver.forNewThread(call).sandboxPolicy;
      return policy.type === "workspace-write" && policy.writable_roots?.map((root) => root.replace(codexHome, "HOME"));
    };
    expect(roots({})).toEqual(["HOME/cache", "/home/me/shared"]);
    expect(roots({}, ['sandbox_workspace_write.writable_roots=["cache"]'])).toEqual(["/srv/app/cache"]);
    expect(roots({ config: { "sandbox_workspace_write.writable_roots": ["~/x", "y"] } })).toEqual(["/home/me/x", "/srv/app/y"]);
  });

  it("instruction files are read again for each thread", () => {
    const { codexHome, ...resolver } = resolverWith({
      toml: 'model_instructions_file = "base.md"\nexperimental_compact_prompt_file = "compact.md"\n',
    });
    fs.writeFileSync(path.join(codexHome, "compact.md"), "Shorten.\n");
    fs.writeFileSync(path.join(codexHome, "base.md"), "First.\n");
    expect(resolver.forNewThread({})).toMatchObject({ baseInstructions: "First.", compactPrompt: "Shorten." });
    fs.writeFileSync(path.join(codexHome, "base.md"), "Second.\n");
    expect(resolver.forNewThread({}).baseInstructions).toBe("Second.");
    fs.writeFileSync(path.join(codexHome, "base.md"), "");
    expect(complaintOf(() => resolver.forNewThread({}))).toBe(`model instructions file is empty: ${path.join(codexHome, "base.md")}`);
  });

  it("alternating calls each get their own settings", () => {
    const resolver = resolverWith({});
    const models = ["one", "one", "two", "one"].map((model) => resolver.forNewThread({ model, config: { model_verbosity: "low" } }).model);
    expect(models).toEqual(["one", "one", "two", "one"]);
    expect(resolver.forNewThread({ model: "one" }).verbosity).toBeUndefined();
  });

  it("a change of config.toml counts from the next thread on", () => {
    const { codexHome, ...resolver } = resolverWith({ toml: 'model = "before"' });
    expect(resolver.forNewThread({}).model).toBe("before");
    fs.writeFileSync(path.join(codexHome, "config.toml"), 'model = "afterwards"');
    expect(resolver.forNewThread({}).model).toBe("afterwards");
    fs.rmSync(path.join(codexHome, "config.toml"));
    expect(resolver.forNewThread({}).model).toBe("gpt-6.1-sol");
    fs.writeFileSync(path.join(codexHome, "config.toml"), "model = ");
    expect(() => resolver.forNewThread({})).toThrow(ConfigInvalid);
  });

  it("the same call gets the same object, unless a file other than config.toml may decide", () => {
    const isSame = (toml: string, call: NewThreadCall = {}) => {
      const resolver = resolverWith({ toml });
      const [first, second] = [{ ...call }, { ...call }].map((same) => resolver.forNewThread(same));
      return first === second;
    };
    expect(isSame('model = "one"', { cwd: "/srv", config: { model_verbosity: "low" } })).toBe(true);
    expect(isSame('[projects."/elsewhere"]\ntrust_level = "untrusted"')).toBe(false);
    expect(isSame("[profiles.p]", { profile: "p" })).toBe(false);
  });

  it("a profile's file counts as soon as it exists, and a folder's trust as soon as its `.git` decides it", () => {
    const { codexHome, ...resolver } = resolverWith({ toml: "" });
    const config = (content: string) => fs.writeFileSync(path.join(codexHome, "config.toml"), content);
    config('profile = "p"\n[profiles.p]\nmodel = "table"');
    expect(resolver.forNewThread({}).model).toBe("table");
    fs.writeFileSync(path.join(codexHome, "p.config.toml"), 'model = "file"');
    expect(resolver.forNewThread({}).model).toBe("file");

    const cwd = path.join(codexHome, "repository", "inner");
    fs.mkdirSync(cwd, { recursive: true });
    config(`[projects."${path.dirname(cwd)}"]\ntrust_level = "trusted"`);
    expect(resolver.forNewThread({ cwd }).sandboxPolicy.type).toBe("read-only");
    fs.mkdirSync(path.join(codexHome, "repository", ".git"));
    fs.writeFileSync(path.join(codexHome, "repository", ".git", "HEAD"), "ref: refs/heads/main\n");
    fs.mkdirSync(path.join(codexHome, "repository", ".git", "objects"));
    fs.mkdirSync(path.join(codexHome, "repository", ".git", "refs"));
    expect(resolver.forNewThread({ cwd }).sandboxPolicy.type).toBe("workspace-write");
    config("");
    expect(resolver.forNewThread({ cwd }).sandboxPolicy.type).toBe("read-only");
  });
});

describe("mistakes of a call", () => {
  it.each<[NewThreadCall, string]>([
    [{ profile: "nobody" }, "config profile `nobody` not found"],
    [{ config: { model_provider: "nobody" } }, "Model provider `nobody` not found"],
    [{ config: { mcp_servers: 5 } }, "invalid type: integer `5`, expected a map\nin `mcp_servers`\n"],
    [
      { config: { model_verbosity: "colossal" } },
      "unknown variant `colossal`, expected one of `low`, `medium`, `high`\nin `model_verbosity`\n",
    ],
    [{ config: { "features.undo": 1 } }, "invalid type: integer `1`, expected a boolean\nin `features.undo`\n"],
    [{ config: { "model_providers.x.base_url": "u" } }, "missing field `name`\nin `model_providers.x`\n"],
  ])("%j is refused in the recorded words", (call, message) => {
    expect(complaintOf(() => resolverWith({}).forNewThread(call))).toBe(message);
  });

  it.each<[NonNullable<NewThreadCall["config"]>, string]>([
    [{ features: { undo: "yes" } }, 'invalid type: string "yes", expected a boolean\nin `features`\n'],
    [{ features: null }, 'invalid type: string "", expected struct FeaturesToml\nin `features`\n'],
    [{ history: 3 }, "invalid type: integer `3`, expected struct History\nin `history`\n"],
    [{ mcp_servers: 3 }, "invalid type: integer `3`, expected a map\nin `mcp_servers`\n"],
    [{ mcp_servers: { x: 3 } }, "invalid type: integer `3`, expected struct RawMcpServerConfig\nin `mcp_servers.x`\n"],
    [{ profiles: { x: 3 } }, "invalid type: integer `3`, expected struct ConfigProfile\nin `profiles.x`\n"],
    [{ approval_policy: 3 }, "invalid type: unit variant, expected string only\nin `approval_policy`\n"],
    [{ model_reasoning_effort: 3 }, "invalid type: unit variant, expected string only\nin `model_reasoning_effort`\n"],
    [{ approval_policy: {} }, "wanted exactly 1 element, found 0 elements\nin `approval_policy`\n"],
    [{ approval_policy: { never: 1 } }, "expected table, found integer\nin `approval_policy`\n"],
    [{ approval_policy: { never: 1.5 } }, "expected table, found float\nin `approval_policy`\n"],
    [
      { "sandbox_mode.x": 1 },
      "unknown variant `x`, expected one of `read-only`, `workspace-write`, `danger-full-access`\nin `sandbox_mode`\n",
    ],
    [
      { sandbox_workspace_write: { writable_roots: [3] } },
      "invalid type: integer `3`, expected path string\nin `sandbox_workspace_write.writable_roots`\n",
    ],
    [
      { sandbox_workspace_write: { writable_roots: ["sub"] } },
      "AbsolutePathBuf deserialized without a base path\nin `sandbox_workspace_write.writable_roots`\n",
    ],
    [
      { sandbox_workspace_write: { network_access: null } },
      'invalid type: string "", expected a boolean\nin `sandbox_workspace_write.network_access`\n',
    ],
    [{ model_provider: null }, "Model provider `` not found"],
  ])("as recorded, the config %j is refused in the words that Codex has for it", (config, message) => {
    expect(complaintOf(() => resolverWith({ asRecorded: true }).forNewThread({ config }))).toBe(message);
  });

  it("as recorded, a choice may be a table with one key, and a table an empty list", () => {
    const config = { approval_policy: { never: {} }, projects: { "/a": { trust_level: { trusted: [] } } }, sandbox_workspace_write: [] };
    const resolver = resolverWith({ asRecorded: true });
    expect(resolver.forNewThread({ config, sandbox: "workspace-write" })).toMatchObject({
      approvalPolicy: "never",
      sandboxPolicy: { type: "workspace-write", network_access: false },
    });
    expect(complaintOf(() => resolverWith({}).forNewThread({ config }))).toBe(
      "invalid type: map, expected a string\nin `approval_policy`\n",
    );
  });

  it("as recorded, include_apply_patch_tool counts in profiles only", () => {
    const patchesFreely = (asRecorded: boolean, config: NewThreadCall["config"]) =>
      resolverWith({ asRecorded }).forNewThread({ config }).features["apply_patch_freeform"];
    const outside = { include_apply_patch_tool: true };
    const inside = { profile: "p", profiles: { p: outside } };
    expect([patchesFreely(true, outside), patchesFreely(true, inside), patchesFreely(false, outside)]).toEqual([false, true, true]);
  });

  it("as recorded, null is an empty text; on a listening server it counts as absent, because the limits of callers treat it so", () => {
    const config = { model: null, mcp_servers: { x: { command: "a", cwd: "sub" } } };
    expect(resolverWith({ asRecorded: true }).forNewThread({ config }).model).toBe("");
    expect(resolverWith({ asRecorded: true, listening: true }).forNewThread({ config }).model).not.toBe("");
  });

  it("unknown keys are only reported", () => {
    const resolver = resolverWith({ toml: `from_file = 1\n[model_providers.openai]\nname = "Mine"\n` });
    expect(resolver.forNewThread({ config: { no_such_key: 1, "features.bogus": true, model: null } }).notices).toEqual([
      "unknown configuration key `from_file`",
      "unknown configuration key `no_such_key`",
      "unknown configuration key `features.bogus`",
      "model_providers.openai is ignored because `openai` is a built-in provider; give yours another name",
    ]);
  });

  it("its caller is told of its unknown keys, with the known ones they resemble, but not of those in config.toml", () => {
    const resolver = resolverWith({ toml: "from_file = 1", overrides: ["stranger=2"] });
    const noticeOn = (config: NewThreadCall["config"]) => resolver.forNewThread({ config }).callNotice;
    expect(noticeOn({ no_such_key: 1, reasoning_effort: "high", "features.bogus": true, sandbox: "x", model: "m" })).toBe(
      "Unknown keys in `config` had no effect: `no_such_key`, `reasoning_effort` (did you mean `model_reasoning_effort`?), `features.bogus`, `sandbox` (did you mean `sandbox_mode`?).",
    );
    expect(noticeOn({ a1: 1, a2: 1, a3: 1, a4: 1, a5: 1, ["k".repeat(99)]: 1, a7: 1 })).toMatch(/: `a1`, .*`a5` and 2 more\.$/);
    expect([noticeOn({ model: "m" }), noticeOn(undefined)]).toEqual([undefined, undefined]);
    expect(resolverWith({ asRecorded: true }).forNewThread({ config: { no_such_key: 1 } }).callNotice).toBeUndefined();
  });

  it("unknown keys are refused when the server is strict", () => {
    const resolver = resolverWith({ strict: true });
    expect(complaintOf(() => resolver.forNewThread({ config: { no_such_key: 1, "features.bogus": true } }))).toBe(
      "unknown configuration key `no_such_key`; unknown configuration key `features.bogus`",
    );
    expect(resolver.forNewThread({ config: { model: "m" } }).notices).toEqual([]);
  });
});

describe("the check at start", () => {
  it("reports harmless mistakes", () => {
    expect(resolverWith({ toml: "odd = 1", overrides: ["stranger=2"] }).checkAtStart()).toEqual([
      "unknown configuration key `odd`",
      "unknown configuration key `stranger`",
    ]);
  });

  it.each<[string, Parts, string]>([
    ["broken TOML", { toml: "this is not toml" }, "error loading config: HOME/config.toml:1:6: illegal character in key"],
    [
      "a wrong type in the file",
      { toml: "model = 5" },
      "error loading config: HOME/config.toml: invalid type: integer `5`, expected a string in `model`",
    ],
    ["a wrong type in -c", { overrides: ["model=5"] }, "error loading config: -c: invalid type: integer `5`, expected a string in `model`"],
    ["a missing provider", { toml: 'model_provider = "gone"' }, "error loading config: Model provider `gone` not found"],
    [
      "a missing profile",
      { named: { profile: "gone" } },
      "error loading config: config profile `gone` not found. A profile is a file NAME.config.toml in CODEX_HOME, or a table [profiles.NAME] in config.toml. There is none yet.",
    ],
    ["an incomplete provider", { toml: "[model_providers.x]" }, "error loading config: missing field `name` in `model_providers.x`"],
    ["an unknown key, if strict", { toml: "odd = 1", strict: true }, "error loading config: unknown configuration key `odd`"],
  ])("refuses %s on one line", (_case, parts, message) => {
    const { codexHome, ...resolver } = resolverWith(parts);
    expect(complaintOf(() => resolver.checkAtStart()).replace(codexHome, "HOME")).toBe(message);
  });
});

describe("settings of the server", () => {
  it.each([
    ["", 1_800_000, 1_800_000],
    ["[mcp_server]\nidle_thread_minutes = 1.5", 90_000, 1_800_000],
    ["[mcp_server]\nidle_thread_minutes = inf", 2_147_483_647, 1_800_000],
    ["[mcp_server]\napproval_timeout_minutes = 0.5", 1_800_000, 30_000],
    ["[mcp_server]\napproval_timeout_minutes = inf", 1_800_000, 2_147_483_647],
  ])("%j keeps idle threads for %d ms and questions for %d ms", (toml, idleThreadMs, approvalTimeoutMs) => {
    expect(resolverWith({ toml }).serverSettings()).toEqual({
      idleThreadMs,
      approvalTimeoutMs,
      waitMs: undefined,
      unattendedTurnMs: 900_000,
      taskAfterMs: 10_000,
      emptyApprovalForms: false,
      events: "auto",
      resultTokens: 20_000,
      prices: {},
      containFullAccess: true,
      shareUnownedThreads: false,
      maxDepth: 1,
      namedSessions: { limit: 100, ttlMs: 86_400_000 },
      commandLimits: expect.objectContaining({ sharedMemoryBytes: 1024 ** 3, fileBytes: undefined, addressSpaceBytes: undefined }),
      loginIsInKeyring: false,
    });
  });

  it("events, limits and prices are those of the file", () => {
    const toml = `[mcp_server]
events = "no-deltas"
result_tokens = 5
[mcp_server.prices."gpt-6.1-sol"]
input = 1.25
output = 10
[mcp_server.prices.other]
input = 1
cached_input = 0.1
output = 2`;
    expect(resolverWith({ toml }).serverSettings()).toMatchObject({
      events: "no-deltas",
      resultTokens: 5,
      prices: { "gpt-6.1-sol": { input: 1.25, cachedInput: 1.25, output: 10 }, other: { input: 1, cachedInput: 0.1, output: 2 } },
    });
    expect(() => resolverWith({ toml: '[mcp_server]\nevents = "some"' }).serverSettings()).toThrow("events");
    expect(() => resolverWith({ toml: "[mcp_server.prices.m]\ninput = 1" }).serverSettings()).toThrow("output");
  });

  it("commands have the limits of the file", () => {
    const limitsIn = (lines: string) => resolverWith({ toml: `[mcp_server.commands]\n${lines}` }).serverSettings().commandLimits;
    expect(limitsIn("")).toMatchObject({ processes: expect.toSatisfy((most) => most >= 1_024) });
    expect(limitsIn("max_processes = 100")).toMatchObject({ processes: 100, threads: 800 });
    expect(limitsIn("max_processes = 0\nshared_memory_mib = 2\nmax_file_mib = 3\nmax_address_space_mib = 4")).toEqual({
      processes: undefined,
      threads: undefined,
      sharedMemoryBytes: 2 * 1024 ** 2,
      fileBytes: 3 * 1024 ** 2,
      addressSpaceBytes: 4 * 1024 ** 2,
    });
    expect(() => limitsIn("max_file_mib = 0")).toThrow("must be at least 1");
  });

  it("only the outermost server starts turns, unless the file says otherwise", () => {
    expect(resolverWith({ toml: "[mcp_server]\nmax_depth = 3" }).serverSettings().maxDepth).toBe(3);
    expect(() => resolverWith({ toml: "[mcp_server]\nmax_depth = 0" }).serverSettings()).toThrow("must be at least 1");
  });
});

describe("a stored thread", () => {
  const stored: StoredSettings = {
    cwd: "/old/place",
    providerId: "mock",
    model: "old-model",
    approvalPolicy: "never",
    sandboxPolicy: { type: "danger-full-access" },
    reasoningEffort: "low",
    baseInstructions: "old base",
    developerInstructions: "old developer",
  };
  const toml = [
    'model = "new-model"\napproval_policy = "untrusted"\nsandbox_mode = "read-only"\nmodel_reasoning_effort = "high"\n',
    'model_verbosity = "low"\nmodel_instructions_file = "gone.md"\ndeveloper_instructions = "new developer"\n',
  ].join("");

  it("keeps its settings, and takes the rest from the current configuration", () => {
    const resolver = resolverWith({ toml: `${toml}${MOCK_PROVIDER}`, named: { model: "flag", sandbox: "workspace-write", cwd: "/flag" } });
    expect(essence(resolver.forStoredThread(stored))).toEqual({
      cwd: "/old/place",
      model: "old-model",
      provider: "mock",
      approvalPolicy: "never",
      sandboxPolicy: { type: "danger-full-access" },
      reasoningEffort: "low",
      verbosity: "low",
      baseInstructions: "old base",
      developerInstructions: "old developer",
      notices: [],
    });
  });

  it("takes the configured provider when its own is gone, and says so", () => {
    expect(essence(resolverWith({ toml }).forStoredThread(stored))).toMatchObject({
      model: "old-model",
      provider: "openai",
      notices: ["model provider `mock` of this thread is no longer configured; `openai` is used instead"],
    });
  });

  it("keeps its provider even when the configured one is gone", () => {
    const resolver = resolverWith({ toml: `model_provider = "gone"\n${MOCK_PROVIDER}` });
    expect(resolver.forStoredThread(stored).provider.id).toBe("mock");
  });

  it("takes settings that its record lacks from the configuration", () => {
    const settings = resolverWith({ toml: toml.replace(/model_instructions_file.*\n/, "") }).forStoredThread({ cwd: "/old/place" });
    expect(essence(settings)).toEqual({
      cwd: "/old/place",
      model: "new-model",
      provider: "openai",
      approvalPolicy: "untrusted",
      sandboxPolicy: { type: "read-only" },
      reasoningEffort: "high",
      verbosity: "low",
      developerInstructions: "new developer",
      notices: [],
    });
  });
});

describe("an engine that reads config.toml itself", () => {
  it("gets the settings beside it as plain JSON: profile, command line, call, the later winning", () => {
    const toml = 'model = "file"\nprofile = "p"\n[profiles.p]\nmodel = "profile"\nmodel_verbosity = "low"\n';
    const resolver = resolverWith({ toml, overrides: ["model_context_window=9223372036854775807", "tools.web_search=true"] });
    const call = { config: { "tools.web_search": false, new_key: { a: [1] } }, sandbox: "read-only", compactPrompt: "shorter" } as const;
    expect(resolver.stated(call)).toEqual({
      model: "profile",
      model_verbosity: "low",
      model_context_window: 2 ** 63,
      tools: { web_search: false },
      new_key: { a: [1] },
      sandbox_mode: "read-only",
      compact_prompt: "shorter",
    });
    expect(resolverWith({ toml: 'model = "file"' }).stated({})).toEqual({});
  });

  it("may know newer values: values that we cannot read are skipped and named, if that is allowed", () => {
    const toml = 'model = "m"\nmodel_verbosity = "ultra"\n';
    expect(() => resolverWith({ toml }).checkAtStart()).toThrow(/unknown variant `ultra`/);
    const settings = resolverWith({ toml, tolerant: true }).forNewThread({});
    expect([settings.model, settings.verbosity, settings.notices]).toEqual([
      "m",
      undefined,
      ["the value of `model_verbosity` in config.toml is unknown here and left to Codex"],
    ]);
  });

  it("gets every word for an effort unchanged: which are valid depends on the model", () => {
    const words = ["none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra", "colossal"];
    const found = words.flatMap((word) => {
      const toml = `model_reasoning_effort = "${word}"\n`;
      const inFile = resolverWith({ toml }).forNewThread({});
      const inCall = resolverWith({}).forNewThread({ config: { model_reasoning_effort: word } });
      return [inFile.reasoningEffort, inCall.reasoningEffort];
    });
    expect(found).toEqual(words.flatMap((word) => [word, word]));
  });

  it("as Codex 0.92.0, knows its words for efforts and those that came later", () => {
    const settings = (word: string) => resolverWith({ asRecorded: true }).forNewThread({ config: { model_reasoning_effort: word } });
    expect([settings("xhigh").reasoningEffort, settings("ultra").reasoningEffort]).toEqual(["xhigh", "ultra"]);
    expect(complaintOf(() => settings("colossal"))).toBe(
      "unknown variant `colossal`, expected one of `none`, `minimal`, `low`, `medium`, `high`, `xhigh`\nin `model_reasoning_effort`\n",
    );
  });

  it.each([
    [undefined, { model: "gpt-6.1-sol", modelIsOurs: "default" }],
    ["latest", { model: "gpt-6.1-sol", modelIsOurs: "latest" }],
    ["gpt-6.1-sol", { model: "gpt-6.1-sol", modelIsOurs: undefined }],
  ])("knows whether the model was named: %s", (model, { modelIsOurs, ...named }) => {
    const settings = resolverWith({ toml: model === undefined ? "" : `model = "${model}"` }).forNewThread({});
    expect({ model: settings.model, modelIsOurs: settings.modelIsOurs }).toEqual({ ...named, modelIsOurs });
  });

  it("does not excuse broken TOML, nor mistakes on the command line and in calls", () => {
    expect(() => resolverWith({ toml: "model = = 1", tolerant: true }).checkAtStart()).toThrow(ConfigInvalid);
    expect(() => resolverWith({ overrides: ["model_verbosity=ultra"], tolerant: true }).checkAtStart()).toThrow(ConfigInvalid);
    expect(() => resolverWith({ tolerant: true }).forNewThread({ config: { model_verbosity: "ultra" } })).toThrow(ConfigInvalid);
  });
});

interface Parts {
  readonly toml?: string;
  readonly overrides?: readonly string[];
  readonly named?: NamedSettings;
  readonly strict?: boolean;
  readonly tolerant?: boolean;
  readonly asRecorded?: boolean;
  readonly listening?: boolean;
}

function resolverWith({
  toml,
  overrides = [],
  named = {},
  strict = false,
  tolerant = false,
  asRecorded = false,
  listening = false,
}: Parts): SettingsResolver & { codexHome: string } {
  const codexHome = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "resolve-")));
  onTestFinished(() => fs.rmSync(codexHome, { recursive: true }));
  if (toml !== undefined) fs.writeFileSync(path.join(codexHome, "config.toml"), toml);
  const resolver = createSettingsResolver({
    codexHome,
    cliOverrides: overrides.map(parseOverride),
    cliNamed: named,
    strict,
    tolerant,
    listening,
    asRecorded,
    env: { HOME: "/home/me" },
    serverCwd: "/srv/app",
  });
  return { ...resolver, codexHome };
}

/** Some settings that a stored thread may have, and one that it may not. */
function essence(settings: ThreadSettings) {
  const { cwd, model, approvalPolicy, sandboxPolicy, reasoningEffort, verbosity, notices } = settings;
  const { baseInstructions, developerInstructions } = settings;
  const instructions = { baseInstructions, developerInstructions };
  return {
    cwd,
    model,
    provider: settings.provider.id,
    approvalPolicy,
    sandboxPolicy,
    reasoningEffort,
    verbosity,
    notices,
    ...instructions,
  };
}

function complaintOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof ConfigInvalid) return error.message;
    throw error;
  }
  throw new Error("nothing was wrong");
}

it.each([
  [
    "approval_policy",
    { approvalPolicy: "never" },
    "unknown variant `wrong`, expected one of `untrusted`, `on-failure`, `on-request`, `never`",
  ],
  [
    "sandbox_mode",
    { sandbox: "read-only" },
    "unknown variant `wrong`, expected one of `read-only`, `workspace-write`, `danger-full-access`",
  ],
] as const)("a wrong %s in the call's config is refused even if an argument overrides it", (key, named, complaint) => {
  const resolver = resolverWith({});
  expect(() => resolver.forNewThread({ ...named, config: { [key]: "wrong" } })).toThrow(`${complaint}\nin \`${key}\``);
});
