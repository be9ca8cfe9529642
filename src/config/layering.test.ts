import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { ConfigInvalid, ProfileNotFound } from "./errors.js";
import { parseOverride } from "./layers.js";
import { createSettingsResolver, type NewThreadCall } from "./resolve.js";

let folder: string;
let codexHome: string;
beforeEach(() => {
  folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), "layering-")));
  codexHome = path.join(folder, "home", ".codex");
  fs.mkdirSync(codexHome, { recursive: true });
  onTestFinished(() => fs.rmSync(folder, { recursive: true }));
});

interface Situation {
  readonly overrides?: readonly string[];
  readonly profile?: string;
  readonly strict?: boolean;
  readonly tolerant?: boolean;
  readonly listening?: boolean;
}

function resolver({ overrides = [], profile, strict = false, tolerant = false, listening = false }: Situation = {}) {
  return createSettingsResolver({
    codexHome,
    cliOverrides: overrides.map(parseOverride),
    cliNamed: profile === undefined ? {} : { profile },
    strict,
    tolerant,
    listening,
    env: { HOME: path.join(folder, "home") },
    serverCwd: folder,
  });
}

function write(file: string, content: string): string {
  const full = path.join(folder, file);
  fs.mkdirSync(path.dirname(full), { recursive: true });
  fs.writeFileSync(full, content);
  return full;
}

const config = (content: string) => write("home/.codex/config.toml", content);
const profileFile = (name: string, content: string) => write(`home/.codex/${name}.config.toml`, content);

function errorOf(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}

describe("a profile with a file of its own", () => {
  it.each<[string, NewThreadCall, Situation]>([
    ["named in the call", { profile: "deep" }, {}],
    ["named in the call's config", { config: { profile: "deep" } }, {}],
    ["named by -p", {}, { profile: "deep" }],
    ["named by -c", {}, { overrides: ["profile=deep"] }],
  ])("%s lies over config.toml", (_how, call, situation) => {
    config('model = "everyday"\nmodel_reasoning_effort = "low"\nmodel_verbosity = "low"\n');
    profileFile(
      "deep",
      'model_reasoning_effort = "max"\nsandbox_mode = "workspace-write"\n[sandbox_workspace_write]\nnetwork_access = true\n',
    );
    const { model, reasoningEffort, verbosity, sandboxPolicy } = resolver(situation).forNewThread(call);
    expect([model, reasoningEffort, verbosity, sandboxPolicy]).toEqual([
      "everyday",
      "max",
      "low",
      expect.objectContaining({ type: "workspace-write", network_access: true }),
    ]);
  });

  it("is weaker than the command line and the call", () => {
    profileFile("deep", 'model = "profile"\nmodel_reasoning_effort = "max"\nmodel_verbosity = "low"\n');
    const made = resolver({ profile: "deep", overrides: ["model_reasoning_effort=high"] }).forNewThread({ model: "call" });
    expect([made.model, made.reasoningEffort, made.verbosity]).toEqual(["call", "high", "low"]);
  });

  it("may have every setting of config.toml, with paths relative to CODEX_HOME", () => {
    fs.writeFileSync(path.join(codexHome, "rules.md"), "Be brief.");
    profileFile(
      "deep",
      'model_instructions_file = "rules.md"\nmodel_provider = "p"\n[model_providers.p]\nname = "P"\nbase_url = "http://127.0.0.1:1"\n',
    );
    const made = resolver().forNewThread({ profile: "deep" });
    expect([made.baseInstructions, made.provider.id]).toEqual(["Be brief.", "p"]);
  });

  it("is preferred to a table of the same name, with a notice", () => {
    config('[profiles.deep]\nmodel = "table"\n[profiles.old]\nmodel = "old"\n');
    profileFile("deep", 'model = "file"\n');
    const made = resolver().forNewThread({ profile: "deep" });
    expect([made.model, made.notices]).toEqual([
      "file",
      ["`[profiles.deep]` of config.toml is not used, since there is a file deep.config.toml"],
    ]);
    expect(resolver().forNewThread({ profile: "old" })).toMatchObject({ model: "old", notices: [] });
  });

  it("takes effect at once when it changes, appears or disappears", () => {
    const made = resolver();
    const model = () => made.forNewThread({ profile: "deep" }).model;
    expect(errorOf(model)).toBeInstanceOf(ProfileNotFound);
    const file = profileFile("deep", 'model = "first"\n');
    expect(model()).toBe("first");
    fs.writeFileSync(file, 'model = "second one"\n');
    expect(model()).toBe("second one");
    fs.rmSync(file);
    expect(errorOf(model)).toBeInstanceOf(ProfileNotFound);
  });

  it("may have unknown keys, unless they are forbidden", () => {
    profileFile("deep", 'odd = 1\nmodel = "m"\n');
    expect(resolver().forNewThread({ profile: "deep" })).toMatchObject({ model: "m", notices: ["unknown configuration key `odd`"] });
    expect(errorOf(() => resolver({ strict: true }).forNewThread({ profile: "deep" }))).toEqual(
      new ConfigInvalid("unknown configuration key `odd`"),
    );
  });

  it.each([
    ['model = "m\n', /deep\.config\.toml:1:\d+: /],
    ["model = 5\n", /deep\.config\.toml: invalid type: integer `5`, expected a string in `model`/],
    ['profile = "other"\n', /deep\.config\.toml: `profile` cannot be set in a profile/],
    ['[profiles.other]\nmodel = "m"\n', /deep\.config\.toml: `profiles` cannot be set in a profile/],
  ])("that is broken (%j) makes calls fail that name it, and only those", (content, complaint) => {
    profileFile("deep", content);
    profileFile("fine", 'model = "fine"\n');
    const made = resolver();
    expect(() => made.forNewThread({ profile: "deep" })).toThrow(complaint);
    expect([made.forNewThread({}).model, made.forNewThread({ profile: "fine" }).model]).toEqual([expect.any(String), "fine"]);
    expect(made.profiles()).toEqual([{ name: "deep", problem: expect.stringMatching(complaint) }, { name: "fine" }]);
  });

  it("with a value of a newer Codex is passed to that Codex", () => {
    profileFile("deep", 'model = "m"\nmodel_verbosity = "ultra"\n');
    expect(resolver({ tolerant: true }).forNewThread({ profile: "deep" })).toMatchObject({
      model: "m",
      notices: ["the value of `model_verbosity` in deep.config.toml is unknown here and ignored"],
    });
  });

  it("is passed to an engine that reads config.toml itself", () => {
    config('model = "file"\n');
    profileFile("deep", 'model_reasoning_effort = "max"\n');
    expect(resolver({ profile: "deep", overrides: ["model_verbosity=low"] }).stated({})).toEqual({
      profile: "deep",
      model_reasoning_effort: "max",
      model_verbosity: "low",
    });
  });
});

describe("a profile that does not exist", () => {
  it("is refused in Codex's words, with the existing ones", () => {
    config('[profiles.old]\nmodel = "old"\n');
    profileFile("deep", "");
    fs.writeFileSync(path.join(codexHome, "a b.config.toml"), "");
    const error = errorOf(() => resolver().forNewThread({ profile: "depe" }));
    expect(error).toEqual(new ProfileNotFound("depe", ["deep", "old"]));
    expect(error).toMatchObject({
      message: "config profile `depe` not found",
      advice: "A profile is a file NAME.config.toml in CODEX_HOME, or a table [profiles.NAME] in config.toml. There are: deep, old.",
    });
  });

  it.each(["../evil", "a/b", "a.b", "", "é", "a b", ".."])("cannot be a file of another name or place: %j", (name) => {
    write("home/evil.config.toml", 'model = "evil"\n');
    fs.writeFileSync(path.join(codexHome, `a.b.config.toml`), 'model = "evil"\n');
    expect(errorOf(() => resolver().forNewThread({ profile: name }))).toBeInstanceOf(ProfileNotFound);
  });
});

describe("instructions and settings of a project", () => {
  const trust = (...folders: string[]) =>
    config(['model = "mine"\n', ...folders.map((each) => `[projects."${path.join(folder, each)}"]\ntrust_level = "trusted"\n`)].join(""));
  const project = (name: string, content: string) => write(`${name}/.codex/config.toml`, content);
  const repository = (name: string) => write(`${name}/.git/HEAD`, "ref: refs/heads/main\n");
  const inFolder = (cwd: string, situation?: Situation) => resolver(situation).forNewThread({ cwd });

  it("count in a folder that the user trusts, from the root of the project down; the innermost wins", () => {
    repository("app");
    project("app", 'model = "root"\nmodel_reasoning_effort = "high"\nmodel_verbosity = "low"\n');
    project("app/lib", 'model_reasoning_effort = "low"\n');
    project("app/lib/deep", 'model = "deep"\n');
    trust("app");
    const said = (cwd: string) => {
      const { model, reasoningEffort, verbosity } = inFolder(cwd);
      return [model, reasoningEffort, verbosity];
    };
    expect([said("app"), said("app/lib"), said("app/lib/deep"), said("app/other")]).toEqual([
      ["root", "high", "low"],
      ["root", "low", "low"],
      ["deep", "low", "low"],
      ["root", "high", "low"],
    ]);
  });

  it.each([
    ["nobody said anything about", ""],
    ["the user distrusts", 'trust_level = "untrusted"\n'],
  ])("does not count in a folder that %s", (_which, entry) => {
    repository("app");
    project("app", 'model = "project"\n');
    config(`model = "mine"\n[projects."${path.join(folder, "app")}"]\n${entry}[projects."/elsewhere"]\ntrust_level = "trusted"\n`);
    expect(inFolder("app").model).toBe("mine");
  });

  it("do not count in a repository inside a trusted one, which is a separate project", () => {
    repository("app");
    repository("app/vendor/theirs");
    project("app/vendor/theirs", 'model = "theirs"\n');
    trust("app");
    expect(inFolder("app/vendor/theirs").model).toBe("mine");
  });

  it("cannot make their own project trusted", () => {
    repository("app");
    project("app", `model = "project"\n[projects."${path.join(folder, "app")}"]\ntrust_level = "trusted"\n`);
    config('model = "mine"\n');
    expect(inFolder("app").model).toBe("mine");
  });

  it("do not count on a server that others may call", () => {
    repository("app");
    project("app", 'model = "project"\n');
    trust("app");
    expect(inFolder("app", { listening: true }).model).toBe("mine");
  });

  it("override the profile and are overridden by the command line, as in Codex", () => {
    repository("app");
    project("app", 'model = "project"\nmodel_reasoning_effort = "high"\n');
    trust("app");
    profileFile("deep", 'model = "profile"\nmodel_verbosity = "low"\n');
    const made = resolver({ profile: "deep", overrides: ["model_reasoning_effort=xhigh"] });
    const { model, reasoningEffort, verbosity } = made.forNewThread({ cwd: "app" });
    expect([model, reasoningEffort, verbosity]).toEqual(["project", "xhigh", "low"]);
    expect(made.stated({ cwd: "app" })).toMatchObject({ model: "project", model_reasoning_effort: "xhigh" });
  });

  it("may not name a program, address, key or file, nor widen anything; a notice says so", () => {
    repository("app");
    const file = project(
      "app",
      [
        'notify = ["touch", "/tmp/x"]',
        'model_provider = "evil"',
        'model_instructions_file = "/etc/passwd"',
        'sandbox_mode = "danger-full-access"',
        'model = "project"',
        "[mcp_servers.evil]",
        'command = "touch"',
        "[model_providers.evil]",
        'name = "evil"',
        'base_url = "http://127.0.0.1:1"',
        "[shell_environment_policy]",
        'set = { LD_PRELOAD = "x.so" }',
        "[sandbox_workspace_write]",
        'writable_roots = ["/"]',
        "[mcp_server]",
        "contain_full_access = false",
        "[features]",
        "exec_policy = false",
        "skill_mcp_dependency_install = true",
        "unified_exec = true",
      ].join("\n"),
    );
    trust("app");
    const made = inFolder("app");
    expect([made.model, made.provider.id, made.mcpServers, made.sandboxPolicy.type, made.baseInstructions]).toEqual([
      "project",
      "openai",
      [],
      "workspace-write",
      undefined,
    ]);
    expect([made.features["exec_policy"], made.features["unified_exec"], made.shellEnvironment.set]).toEqual([true, true, {}]);
    expect(made.notices).toEqual([
      `ignored in ${file}, which a project may not set: \`notify\`, \`model_provider\`, \`model_instructions_file\`, ` +
        "`sandbox_mode`, `mcp_servers`, `model_providers`, `shell_environment_policy`, `sandbox_workspace_write`, " +
        "`mcp_server`, `features.exec_policy`, `features.skill_mcp_dependency_install`",
    ]);
  });

  it("are not read from the user's own configuration if the home folder is trusted", () => {
    config(`model = "mine"\n[projects."${path.join(folder, "home")}"]\ntrust_level = "trusted"\n`);
    expect(inFolder("home")).toMatchObject({ model: "mine", notices: [] });
  });

  it("are not read through a link that leaves the project, nor from anything but a file", () => {
    repository("app");
    const elsewhere = write("elsewhere.toml", 'model = "elsewhere"\n');
    const file = path.join(folder, "app/.codex/config.toml");
    fs.mkdirSync(path.dirname(file));
    fs.symlinkSync(elsewhere, file);
    trust("app");
    expect(inFolder("app")).toMatchObject({ model: "mine", notices: [`${file} is not read: it is a link out of its folder`] });
    fs.rmSync(file);
    fs.mkdirSync(file);
    expect(inFolder("app")).toMatchObject({ model: "mine", notices: [`${file} is not read: EISDIR`] });
  });

  it("make calls in that folder fail if they are broken, with the place of the error", () => {
    repository("app");
    project("app", "model = \n");
    trust("app");
    expect(() => inFolder("app")).toThrow(/app\/\.codex\/config\.toml:1:\d+: /);
    expect(inFolder(".").model).toBe("mine");
    project("app", "model = 5\n");
    expect(() => inFolder("app")).toThrow(/app\/\.codex\/config\.toml: invalid type: integer `5`, expected a string in `model`/);
  });

  it("counts at once when it changes", () => {
    repository("app");
    trust("app");
    const made = resolver();
    const model = () => made.forNewThread({ cwd: "app" }).model;
    expect(model()).toBe("mine");
    project("app", 'model = "first"\n');
    expect(model()).toBe("first");
    project("app", 'model = "second one"\n');
    expect(model()).toBe("second one");
  });
});
