import { describe, expect, it } from "vitest";
import { OverrideMalformed } from "./errors.js";
import { anchorPaths, parseOverride, profileTable, treeOfCallConfig, treeOfOverrides } from "./layers.js";

describe("parseOverride", () => {
  it.each([
    ["model=gpt-5", ["model"], "gpt-5"],
    ['model="gpt-5"', ["model"], "gpt-5"],
    ["model='gpt-5'", ["model"], "gpt-5"],
    ['model="unfinished', ["model"], "unfinished"],
    ["model=", ["model"], ""],
    [" model = gpt 5 ", ["model"], "gpt 5"],
    ["model=a=b", ["model"], "a=b"],
    ["hide_agent_reasoning=true", ["hide_agent_reasoning"], true],
    ["model_context_window=5", ["model_context_window"], 5],
    ["model_context_window=9223372036854775807", ["model_context_window"], 9223372036854775807n],
    ["mcp_servers.a.tool_timeout_sec=1.5", ["mcp_servers", "a", "tool_timeout_sec"], 1.5],
    ['notify=["say","done"]', ["notify"], ["say", "done"]],
    ["sandbox_workspace_write={network_access=true}", ["sandbox_workspace_write"], { network_access: true }],
    ['projects."/a/b.c".trust_level=trusted', ["projects", "/a/b.c", "trust_level"], "trusted"],
    ["projects.'/a=b'.trust_level=trusted", ["projects", "/a=b", "trust_level"], "trusted"],
    ['projects."a\\"b".trust_level=trusted', ["projects", 'a"b', "trust_level"], "trusted"],
    ["model=1\nprofile = 2", ["model"], "1\nprofile = 2"],
  ])("reads %s", (argument, path, value) => {
    expect(parseOverride(argument)).toEqual({ path, value });
  });

  it.each(["model", "", "=5", " =5", '"a=b"'])("refuses %j and names it", (argument) => {
    expect(() => parseOverride(argument)).toThrow(
      new OverrideMalformed(`-c needs key=value, for example -c model="gpt-6.1-sol"; got: ${argument}`),
    );
  });
});

describe("treeOfOverrides", () => {
  it("lets later layers override earlier ones", () => {
    const overrides = ["a.x=1", "a.y=2", "b={x=1}", "b={y=2}", "c=1", "c.d=2"].map(parseOverride);
    expect(treeOfOverrides(overrides)).toEqual({ a: { x: 1, y: 2 }, b: { y: 2 }, c: { d: 2 } });
  });
});

describe("treeOfCallConfig", () => {
  it("reads dotted keys, nested objects and both together; null is absent", () => {
    const config = {
      "features.undo": true,
      features: { steer: true, undo: null },
      "sandbox_workspace_write.network_access": true,
      'projects."/a.b".trust_level': "trusted",
      projects: null,
      model: null,
      notify: ["a"],
    };
    expect(treeOfCallConfig(config)).toEqual({
      features: { undo: true, steer: true },
      sandbox_workspace_write: { network_access: true },
      projects: { "/a.b": { trust_level: "trusted" } },
      notify: ["a"],
    });
  });

  it("refuses tables and lists that are nested too deeply for the stack", () => {
    const within = (wrap: (inner: unknown) => unknown) => Array.from({ length: 100_000 }).reduce((inner) => wrap(inner), "x" as unknown);
    for (const model of [within((inner) => [inner]), within((a) => ({ a })), within((inner) => [{ a: inner }])])
      expect(() => treeOfCallConfig({ model })).toThrow("more than 32 deep");
  });
});

const ANCHOR = { folder: "/home/me/.codex", home: "/home/me" };

describe("anchorPaths", () => {
  it("makes the paths of the schema absolute, and changes nothing else", () => {
    const tree = {
      model: "./not-a-path",
      model_instructions_file: "prompts/base.md",
      sandbox_workspace_write: { writable_roots: ["/abs", "rel", "~", "~/cache", "~other"] },
      profiles: { fast: { experimental_compact_prompt_file: "../compact.md" } },
      unknown: { model_instructions_file: "x" },
    };
    expect(anchorPaths(tree, ANCHOR)).toEqual({
      model: "./not-a-path",
      model_instructions_file: "/home/me/.codex/prompts/base.md",
      sandbox_workspace_write: { writable_roots: ["/abs", "/home/me/.codex/rel", "/home/me", "/home/me/cache", "/home/me/.codex/~other"] },
      profiles: { fast: { experimental_compact_prompt_file: "/home/me/compact.md" } },
      unknown: { model_instructions_file: "x" },
    });
  });

  it("leaves values of the wrong type for the check", () => {
    const tree = { model_instructions_file: 5, sandbox_workspace_write: { writable_roots: "x" }, profiles: 1 };
    expect(anchorPaths(tree, ANCHOR)).toEqual(tree);
  });
});

it("the keys of a profile's table become top-level settings", () => {
  const fast = { model: "f", sandbox_mode: "read-only", features: { undo: true }, tools_web_search: true, tools_view_image: false };
  expect(profileTable("fast", { profiles: { fast } })).toEqual({
    model: "f",
    sandbox_mode: "read-only",
    features: { undo: true },
    tools: { web_search: true, view_image: false },
  });
});

it.each(["nobody", "constructor", ""])("a profile %j has a table only if it was written", (profile) => {
  expect(profileTable(profile, { profiles: { fast: {} } })).toBeUndefined();
});
