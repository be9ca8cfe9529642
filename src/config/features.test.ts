import { describe, expect, it } from "vitest";
import { resolveFeatures } from "./features.js";

const UNCONFIGURED = {
  shell_tool: true,
  exec_policy: true,
  unified_exec: false,
  apply_patch_freeform: false,
  shell_snapshot: false,
  web_search_request: false,
  web_search_cached: false,
  child_agents_md: false,
  collab: false,
  collaboration_modes: false,
  connectors: false,
  elevated_windows_sandbox: false,
  enable_request_compression: false,
  experimental_windows_sandbox: false,
  powershell_utf8: process.platform === "win32",
  remote_compaction: true,
  remote_models: true,
  responses_websockets: false,
  steer: false,
  undo: false,
};

describe("resolveFeatures", () => {
  it("has Codex's defaults", () => {
    expect(resolveFeatures({})).toEqual(UNCONFIGURED);
  });

  it("switches what is named and ignores what nobody knows", () => {
    expect(resolveFeatures({ features: { shell_tool: false, undo: true, bogus: true } })).toEqual({
      ...UNCONFIGURED,
      shell_tool: false,
      undo: true,
    });
  });

  it.each([
    [{ tools: { web_search: true } }, { web_search_request: true }],
    [{ tools: { web_search_request: true } }, { web_search_request: true }],
    [{ experimental_use_unified_exec_tool: true }, { unified_exec: true }],
    [{ include_apply_patch_tool: true }, { apply_patch_freeform: true }],
    [{ experimental_use_freeform_apply_patch: true }, { apply_patch_freeform: true }],
    [{ include_apply_patch_tool: true, features: { apply_patch_freeform: false } }, {}],
  ])("reads the older switches in %j", (settings, changes) => {
    expect(resolveFeatures(settings)).toEqual({ ...UNCONFIGURED, ...changes });
  });
});
