import { describe, expect, it } from "vitest";
import { checkConfig } from "./check.js";
import { ConfigInvalid } from "./errors.js";

describe("checkConfig", () => {
  it("accepts every kind of value in its place", () => {
    const tree = {
      model: "m",
      model_context_window: 128_000,
      model_auto_compact_token_limit: 9223372036854775807n,
      model_reasoning_effort: "xhigh",
      hide_agent_reasoning: true,
      notify: ["say", "done"],
      project_doc_max_bytes: 0,
      sandbox_workspace_write: { writable_roots: ["/a"], network_access: true },
      model_providers: { mine: { name: "Mine", http_headers: { "X-A": "1" }, request_max_retries: 0, aws: { region: "x" } } },
      profiles: { fast: { model: "f", features: { undo: true }, tools_web_search: true } },
      mcp_servers: { docs: { command: "docs", startup_timeout_sec: 1.5 }, web: { url: "http://localhost/mcp", tool_timeout_sec: 3 } },
      projects: { "/a": { trust_level: "trusted" } },
      shell_environment_policy: { inherit: "core", set: { A: "b" } },
      tui: { theme: 1 },
      service_tier: "fast",
      mcp_server: { idle_thread_minutes: 0.5 },
    };
    expect(checkConfig(tree)).toEqual({ unknownKeys: [] });
  });

  it("names every unknown key by its whole path", () => {
    const tree = {
      no_such_key: 1,
      features: { bogus: true, undo: true },
      model_providers: { mine: { name: "Mine", colour: "red" } },
      constructor: 1,
    };
    expect(checkConfig(tree)).toEqual({ unknownKeys: ["no_such_key", "features.bogus", "model_providers.mine.colour", "constructor"] });
  });

  it.each<[string, Record<string, unknown>, string]>([
    ["a number for a table", { mcp_servers: 5 }, "invalid type: integer `5`, expected a map\nin `mcp_servers`\n"],
    [
      "an unknown verbosity",
      { model_verbosity: "colossal" },
      "unknown variant `colossal`, expected one of `low`, `medium`, `high`\nin `model_verbosity`\n",
    ],
    [
      "one of two",
      { history: { persistence: "some" } },
      "unknown variant `some`, expected `save-all` or `none`\nin `history.persistence`\n",
    ],
    ["a number for a text", { model: 5 }, "invalid type: integer `5`, expected a string\nin `model`\n"],
    ["null for a text", { model: null }, "invalid type: null, expected a string\nin `model`\n"],
    ["a list for a text", { model: [] }, "invalid type: sequence, expected a string\nin `model`\n"],
    ["a table for a text", { model: {} }, "invalid type: map, expected a string\nin `model`\n"],
    ["a truth for a choice", { sandbox_mode: true }, "invalid type: boolean `true`, expected a string\nin `sandbox_mode`\n"],
    ["a text for a truth", { hide_agent_reasoning: "a" }, 'invalid type: string "a", expected a boolean\nin `hide_agent_reasoning`\n'],
    ["a text for a list", { notify: "a" }, 'invalid type: string "a", expected a sequence\nin `notify`\n'],
    ["a wrong list entry", { notify: ["a", 1] }, "invalid type: integer `1`, expected a string\nin `notify`\n"],
    [
      "a fraction for a size",
      { project_doc_max_bytes: 1.5 },
      "invalid type: floating point `1.5`, expected usize\nin `project_doc_max_bytes`\n",
    ],
    [
      "a size beyond 64 bits",
      { project_doc_max_bytes: 1e20 },
      "invalid type: floating point `100000000000000000000.0`, expected usize\nin `project_doc_max_bytes`\n",
    ],
    ["a text for a size", { model_context_window: "a" }, 'invalid type: string "a", expected i64\nin `model_context_window`\n'],
    [
      "a port out of range",
      { mcp_oauth_callback_port: 70_000 },
      "invalid value: integer `70000`, expected u16\nin `mcp_oauth_callback_port`\n",
    ],
    ["a date", { model: new Date(0) }, "invalid type: datetime, expected a string\nin `model`\n"],
    [
      "negative retries",
      { model_providers: { mine: { name: "M", request_max_retries: -1 } } },
      "invalid value: integer `-1`, expected u64\nin `model_providers.mine.request_max_retries`\n",
    ],
    [
      "a text for seconds",
      { mcp_servers: { a: { command: "a", tool_timeout_sec: "1" } } },
      'invalid type: string "1", expected f64\nin `mcp_servers.a.tool_timeout_sec`\n',
    ],
    ["a profile that is no table", { profiles: { fast: 1 } }, "invalid type: integer `1`, expected a map\nin `profiles.fast`\n"],
    ["a provider without a name", { model_providers: { mine: {} } }, "missing field `name`\nin `model_providers.mine`\n"],
    ["a server without transport", { mcp_servers: { a: {} } }, "invalid transport\nin `mcp_servers.a`\n"],
    ["a program with a url", { mcp_servers: { a: { command: "a", url: "b" } } }, "url is not supported for stdio\nin `mcp_servers.a`\n"],
    [
      "a url with arguments",
      { mcp_servers: { a: { url: "b", args: [] } } },
      "args is not supported for streamable_http\nin `mcp_servers.a`\n",
    ],
    ["too few sub-agents", { agents: { max_threads: 0 } }, "agents.max_threads must be at least 1"],
    ["a negative window", { model_context_window: -1 }, "model_context_window must be at least 1"],
    ["not a number of minutes", { mcp_server: { idle_thread_minutes: Number.NaN } }, "mcp_server.idle_thread_minutes must be at least 0"],
  ])("refuses %s in Codex's words", (_case, tree, message) => {
    expect(() => checkConfig(tree)).toThrow(expect.objectContaining({ name: "ConfigInvalid", message }));
  });

  it("shows no secret in a complaint", () => {
    const tree = { model_providers: { mine: { name: "M", http_headers: "Bearer abc" } } };
    const message = 'invalid type: string "****", expected a map\nin `model_providers.mine.http_headers`\n';
    expect(() => checkConfig(tree)).toThrow(expect.objectContaining({ name: "ConfigInvalid", message }));
  });

  it("accepts a partial tree with missing settings, but not with wrong ones", () => {
    expect(checkConfig({ model_providers: { mine: { base_url: "u" } }, mcp_servers: { a: {} } }, { partial: true })).toEqual({
      unknownKeys: [],
    });
    expect(() => checkConfig({ model: 5 }, { partial: true })).toThrow(ConfigInvalid);
  });

  it.each([
    [
      { file_opener: "emacs" },
      "unknown variant `emacs`, expected one of `vscode`, `vscode-insiders`, `windsurf`, `cursor`, `none`\nin `file_opener`\n",
    ],
    [{ file_opener: 5 }, "invalid type: unit variant, expected string only\nin `file_opener`\n"],
    [{ tui: 5 }, "invalid type: integer `5`, expected struct Tui\nin `tui`\n"],
    [{ tui: { animations: "yes" } }, 'invalid type: string "yes", expected a boolean\nin `tui.animations`\n'],
    [{ tui: { notifications: [1] } }, "data did not match any variant of untagged enum Notifications\nin `tui.notifications`\n"],
    [{ notice: [] }, "invalid length 0, expected struct Notice with 6 elements\nin `notice`\n"],
    [{ analytics: [] }, "invalid length 0, expected struct AnalyticsConfigToml with 1 element\nin `analytics`\n"],
    [{ features: [] }, "invalid type: sequence, expected struct FeaturesToml\nin `features`\n"],
    [{ features: { unknown: 1 } }, "invalid type: integer `1`, expected a boolean\nin `features`\n"],
    [{ profiles: { p: { analytics: 5 } } }, "invalid type: integer `5`, expected struct AnalyticsConfigToml\nin `profiles.p.analytics`\n"],
    [{ skills: { config: [5] } }, "invalid type: integer `5`, expected struct SkillConfig\nin `skills.config`\n"],
    [{ skills: { config: [{ path: "/a" }] } }, "missing field `enabled`\nin `skills.config`\n"],
    [{ otel: { exporter: "otlp-http" } }, "invalid type: unit variant, expected struct variant\nin `otel.exporter`\n"],
    [{ project_root_markers: ".git" }, "project_root_markers must be an array of strings"],
    [{ approval_policy: {} }, "wanted exactly 1 element, found 0 elements\nin `approval_policy`\n"],
    [{ approval_policy: { never: {}, untrusted: {} } }, "wanted exactly 1 element, more than 1 element\nin `approval_policy`\n"],
    [{ approval_policy: { never: { a: 1 } } }, "expected empty table\nin `approval_policy`\n"],
    [{ approval_policy: { never: [1] } }, "expected empty array\nin `approval_policy`\n"],
    [{ approval_policy: { never: "a b" } }, "expected table, found string\nin `approval_policy`\n"],
    [{ model_reasoning_effort: { low: 1 } }, "expected table, found integer\nin `model_reasoning_effort`\n"],
  ])("refuses %j in a call as recorded", (tree, message) => {
    expect(() => checkConfig(tree, { partial: true, asRecorded: true })).toThrow(
      expect.objectContaining({ name: "ConfigInvalid", message }),
    );
  });

  it.each([
    { tui: [] },
    { tui: { notifications: ["a"], theme: "dark" } },
    { otel: { exporter: { "otlp-http": { endpoint: "http://localhost" } } } },
    { model_reasoning_effort: "max" },
    { approval_policy: { never: {} }, sandbox_mode: { "read-only": [] } },
  ])("accepts %j in a call as recorded", (tree) => {
    expect(checkConfig(tree, { partial: true, asRecorded: true })).toEqual({
      unknownKeys: tree.tui && "theme" in tree.tui ? ["tui.theme"] : [],
    });
  });
});
