import { expect, it } from "vitest";
import { CodexRefused } from "../errors.js";
import { type ProfileRules, permissionProfile } from "./permissionProfile.js";

const RULES: ProfileRules = {
  policy: { type: "read-only" },
  cwd: "/nowhere/ws",
  readable: ["/usr", "/nowhere/[id]"],
  hidden: [{ folder: "/nowhere/home" }, { folder: "/nowhere/ws/deploy", names: ["token"] }],
  readOnly: ["/nowhere/ws/.vscode", "/nowhere/elsewhere"],
  program: "/nowhere/lib/vendor/x86_64/bin/codex",
  codexHome: "/nowhere/home",
};
const ALWAYS = {
  ":minimal": "read",
  "/usr": "read",
  "/nowhere/lib/vendor/x86_64": "read",
  "/nowhere/home/tmp/arg0": "read",
  "/nowhere/home/tmp/arg0-linux": "read",
};

it("under read-only nothing is written, and secrets in the workspace are not read", () => {
  expect(permissionProfile(RULES)).toEqual({
    filesystem: { ...ALWAYS, "/nowhere/ws": "read", "/nowhere/ws/deploy/token": "deny" },
    network: { enabled: false },
  });
});

it("under workspace-write its roots and the machine's temporary folders are, without what other programs run", () => {
  const policy = {
    type: "workspace-write",
    writable_roots: ["../more"],
    network_access: true,
    exclude_tmpdir_env_var: true,
    exclude_slash_tmp: false,
  } as const;
  expect(permissionProfile({ ...RULES, policy })).toEqual({
    filesystem: {
      ...ALWAYS,
      "/nowhere/ws": "write",
      "/nowhere/more": "write",
      ":slash_tmp": "write",
      "/nowhere/ws/.vscode": "read",
      "/nowhere/ws/deploy/token": "deny",
    },
    network: { enabled: true },
  });
});

it("a caller who shares the machine has temporary files of its own", () => {
  const policy = { type: "workspace-write", network_access: false, exclude_tmpdir_env_var: false, exclude_slash_tmp: false } as const;
  expect(permissionProfile({ ...RULES, policy, tmp: "/nowhere/home/tmp/1" })).toMatchObject({
    filesystem: { ...ALWAYS, "/nowhere/home/tmp/1": "write" },
  });
  expect(JSON.stringify(permissionProfile({ ...RULES, policy, tmp: "/t" }))).not.toMatch(/slash_tmp|tmpdir/);
});

it("a folder that holds CODEX_HOME is not opened at all", () => {
  const open = () => permissionProfile({ ...RULES, cwd: "/nowhere" });
  expect(open).toThrow(CodexRefused);
  expect(open).toThrow("/nowhere cannot be opened to callers by this Codex: it holds CODEX_HOME (/nowhere/home)");
});
