import { describe, expect, it } from "vitest";
import { CONFIG_SCHEMA } from "../config/schema/schema.js";
import { isForbidden, refusedKeys } from "./ceilings.js";

function refused(config: Readonly<Record<string, unknown>>, added: readonly string[][] = []): string[] {
  return refusedKeys(config, added).map((path) => path.join("."));
}

describe("what a network call may name", () => {
  it.for([
    { model: "m", model_reasoning_effort: "high", model_reasoning_summary: "none", model_verbosity: "low" },
    { project_doc_max_bytes: 0, tool_output_token_limit: 100 },
    { profile: "p", approval_policy: "never", sandbox_mode: "danger-full-access" },
    { developer_instructions: "be kind", compact_prompt: "be brief" },
    { '"model"': "m" },
    { mcp_servers: null, model: "m" },
    {},
  ])("%j", (config) => expect(refused(config)).toEqual([]));
});

describe("refused keys, in every spelling", () => {
  it.for<[Record<string, unknown>, string[]]>([
    [{ mcp_servers: { evil: { command: "sh", args: ["-c", "id"] } } }, ["mcp_servers.evil.command", "mcp_servers.evil.args"]],
    [{ "mcp_servers.evil.command": "sh" }, ["mcp_servers.evil.command"]],
    [{ 'mcp_servers."ev.il".command': "sh" }, ["mcp_servers.ev.il.command"]],
    [{ "'mcp_servers'.evil": { command: "sh" } }, ["mcp_servers.evil.command"]],
    [{ "mcp_servers.evil": { "transport.command": "sh" } }, ["mcp_servers.evil.transport.command"]],
    [{ mcp_servers: {} }, ["mcp_servers"]],
    [{ mcp_servers: 5 }, ["mcp_servers"]],
    [{ notify: ["sh", "-c", "id"] }, ["notify"]],
    [{ model_providers: { p: { base_url: "http://evil" } } }, ["model_providers.p.base_url"]],
    [{ "model_providers.p.http_headers": { a: "b" } }, ["model_providers.p.http_headers.a"]],
    [{ "model_providers.p.env_key": "HOME" }, ["model_providers.p.env_key"]],
    [{ model_provider: "p" }, ["model_provider"]],
    [{ openai_base_url: "http://evil" }, ["openai_base_url"]],
    [{ chatgpt_base_url: "http://evil" }, ["chatgpt_base_url"]],
    [{ shell_environment_policy: { inherit: "all" } }, ["shell_environment_policy.inherit"]],
    [{ "shell_environment_policy.set.LD_PRELOAD": "x.so" }, ["shell_environment_policy.set.LD_PRELOAD"]],
    [{ "sandbox_workspace_write.writable_roots": ["/"] }, ["sandbox_workspace_write.writable_roots"]],
    [{ sandbox_workspace_write: { network_access: true } }, ["sandbox_workspace_write.network_access"]],
    [{ model_instructions_file: "/etc/passwd" }, ["model_instructions_file"]],
    [{ experimental_instructions_file: "/etc/passwd" }, ["experimental_instructions_file"]],
    [{ experimental_compact_prompt_file: "/etc/passwd" }, ["experimental_compact_prompt_file"]],
    [{ project_doc_fallback_filenames: [".env"] }, ["project_doc_fallback_filenames"]],
    [{ profile: "p", profiles: { p: { sandbox_mode: "danger-full-access" } } }, ["profiles.p.sandbox_mode"]],
    [{ "profiles.p.model_provider": "x", model: "m" }, ["profiles.p.model_provider"]],
    [{ projects: { "/srv": { trust_level: "trusted" } } }, ["projects./srv.trust_level"]],
    [{ mcp_server: { share_unowned_threads: true } }, ["mcp_server.share_unowned_threads"]],
    [{ "features.exec_policy": false }, ["features.exec_policy"]],
    [{ features: { unified_exec: true } }, ["features.unified_exec"]],
    [{ experimental_use_unified_exec_tool: true }, ["experimental_use_unified_exec_tool"]],
    [{ otel: { exporter: "x" } }, ["otel.exporter"]],
    [{ web_search: "live" }, ["web_search"]],
    [{ nobody_knows: 1 }, ["nobody_knows"]],
    [{ MODEL: "m" }, ["MODEL"]],
    [{ " mcp_servers.evil.command": "sh" }, [" mcp_servers.evil.command"]],
    [{ "": 1 }, [""]],
    [{ "model = 1\nmcp_servers.'x'.command": "sh" }, ["model = 1\nmcp_servers.'x'.command"]],
    [{ __proto__: null, constructor: { prototype: { model: "m" } } }, ["constructor.prototype.model"]],
  ])("%j", ([config, keys]) => expect(refused(config)).toEqual(keys));
});

describe("what the operator adds", () => {
  it("counts as named, and so does everything below it", () => {
    expect(
      refused({ web_search: "live", "features.unified_exec": true, features: { undo: true } }, [["web_search"], ["features"]]),
    ).toEqual([]);
    expect(refused({ "features.undo": true }, [["features", "unified_exec"]])).toEqual(["features.undo"]);
  });

  it("does not allow forbidden keys", () => {
    expect(refused({ "features.exec_policy": false, mcp_servers: { a: { url: "http://x" } } }, [["features"], ["mcp_servers"]])).toEqual([
      "features.exec_policy",
      "mcp_servers.a.url",
    ]);
  });

  it("cannot be a key that names a file or a folder, under any name", () => {
    const paths = Object.entries(CONFIG_SCHEMA.fields).filter(([, { type }]) => type.kind === "path");
    expect(paths.map(([key]) => [key, isForbidden([key])])).toEqual(paths.map(([key]) => [key, true]));
    expect(paths.length).toBeGreaterThan(0);
  });
});
