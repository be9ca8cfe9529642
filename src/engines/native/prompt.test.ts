import { afterEach, describe, expect, it, vi } from "vitest";
import { settingsIn } from "../../../test/support/rollouts.js";
import type { ThreadSettings } from "../../threads/settings.js";
import { message } from "./history.js";
import { initialContext } from "./prompt.js";

afterEach(() => void vi.unstubAllEnvs());

function permissions(changes: Partial<ThreadSettings>): unknown {
  return initialContext(settingsIn("/repo", changes), undefined)[0]?.["content"];
}

describe("what a conversation begins with", () => {
  it("is permissions, the caller's instructions, the project's, and where the agent is, in this order", () => {
    vi.stubEnv("SHELL", "/usr/bin/zsh");
    const context = initialContext(settingsIn("/repo", { developerInstructions: "Be kind." }), "Use tabs.");
    expect(context.map(({ role }) => role)).toEqual(["developer", "developer", "user", "user"]);
    expect(context.slice(1)).toEqual([
      message("developer", "Be kind."),
      message("user", "# AGENTS.md instructions for /repo\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>"),
      message("user", "<environment_context>\n  <cwd>/repo</cwd>\n  <shell>zsh</shell>\n</environment_context>"),
    ]);
  });

  it("is only permissions and place when nobody gave instructions", () => {
    vi.stubEnv("SHELL", undefined);
    expect(initialContext(settingsIn("/repo"), undefined)).toEqual([
      message("developer", expect.stringMatching(/^<permissions instructions>\n.*\n<\/permissions instructions>$/s)),
      message("user", "<environment_context>\n  <cwd>/repo</cwd>\n  <shell>bash</shell>\n</environment_context>"),
    ]);
  });
});

describe("the permissions a model is told", () => {
  function told(pattern: RegExp): unknown {
    return [{ type: "input_text", text: expect.stringMatching(pattern) }];
  }

  it("name the sandbox", () => {
    expect(permissions({ sandboxPolicy: { type: "read-only" } })).toEqual(told(/`read-only`.*cannot write/));
    expect(permissions({ sandboxPolicy: { type: "danger-full-access" } })).toEqual(told(/`danger-full-access`.*not restricted/));
  });

  it.each([
    [true, /Network access is allowed/],
    [false, /no network access/],
  ])("name the folders that may be written, and the network: %s", (network_access, network) => {
    const sandboxPolicy = {
      type: "workspace-write",
      writable_roots: ["/data", "/cache"],
      network_access,
      exclude_tmpdir_env_var: false,
      exclude_slash_tmp: false,
    } as const;
    const text = permissions({ sandboxPolicy });
    expect(text).toEqual(told(/`workspace-write`.*`\/repo`, `\/data`, `\/cache`/));
    expect(text).toEqual(told(network));
  });

  it.each(["untrusted", "on-failure", "on-request", "never"] as const)("name the approval policy %s", (approvalPolicy) => {
    expect(permissions({ approvalPolicy })).toEqual(told(new RegExp(`Approval policy \`${approvalPolicy}\``)));
  });
});
