import { mkdirSync, realpathSync, rmdirSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { settingsIn, tempHome } from "../../test/support/threads/rollouts.js";
import { SANDBOX_MODES, type SandboxPolicy } from "../exec/policies.js";
import type { ThreadSettings } from "../threads/settings.js";
import { AboveCeiling } from "./errors.js";
import { type Ceilings, turnLimits } from "./turnLimits.js";

const WORKSPACE = { type: "workspace-write", network_access: false, exclude_tmpdir_env_var: false, exclude_slash_tmp: false } as const;

const home = tempHome();
let place: string;
beforeAll(() => {
  place = realpathSync(home.path);
  for (const folder of ["allowed/sub", "allowed-not", "other"]) mkdirSync(path.join(place, folder), { recursive: true });
  symlinkSync(path.join(place, "other"), path.join(place, "allowed/out"));
  symlinkSync(path.join(place, "allowed/sub"), path.join(place, "in"));
});
afterAll(() => home[Symbol.dispose]());

/** The reason why the limits refuse these settings; undefined if they accept them. */
function complaintAbout(settings: Partial<ThreadSettings>, ceilings: Partial<Ceilings> = {}): string | undefined {
  const limits = turnLimits({
    maxSandbox: "workspace-write",
    roots: [path.join(place, "allowed")],
    ownFiles: path.join(place, "codex-home"),
    configured: () => WORKSPACE,
    reach: { folders: undefined },
    ...ceilings,
  });
  try {
    limits.check(settingsIn(path.join(place, "allowed"), settings));
    return undefined;
  } catch (error) {
    if (error instanceof AboveCeiling) return error.message;
    throw error;
  }
}

it.for([
  "allowed/.git",
  "allowed/.git/hooks",
  "allowed/sub/.codex",
  "allowed/sub/.agents/skills",
  "allowed/sub/.vscode",
  "allowed/.idea/runConfigurations",
  "allowed/.claude",
  "allowed/sub/.cursor",
  "allowed/bare.git",
  "allowed/bare.git/hooks",
])("%s is neither the working directory nor opened to commands", (name) => {
  const folder = path.join(place, name);
  for (const part of ["HEAD", "objects", "refs"]) mkdirSync(path.join(place, "allowed/bare.git", part), { recursive: true });
  mkdirSync(folder, { recursive: true });
  expect(complaintAbout({ cwd: folder })).toMatch(/cannot be the working directory.*decides what other programs run/);
  const sandboxPolicy = { ...WORKSPACE, writable_roots: [folder] };
  expect(complaintAbout({ sandboxPolicy })).toMatch(/cannot be a folder that commands may write.*decides what other programs run/);
});

it("an allowed folder that is itself a git folder is named", () => {
  const parts = ["HEAD", "objects", "refs"].map((part) => path.join(place, "allowed", part));
  for (const part of parts) mkdirSync(part);
  const complaint = complaintAbout({ cwd: path.join(place, "allowed") });
  for (const part of parts) rmdirSync(part);
  expect(complaint).toContain("what is in allowed decides what other programs run");
});

it("an agent's folder of worktrees has ordinary folders", () => {
  const tree = path.join(place, "allowed/.claude/worktrees/one");
  mkdirSync(tree, { recursive: true });
  expect(complaintAbout({ cwd: tree, sandboxPolicy: { ...WORKSPACE, writable_roots: [tree] } })).toBeUndefined();
});

it("link targets are revealed only within the caller's own folders", () => {
  const link = path.join(place, "elsewhere");
  symlinkSync(path.join(place, "other"), link);
  for (const cwd of [link, `${path.join(place, "allowed")}/../elsewhere`, `/proc/${process.pid}/cwd`]) {
    expect(complaintAbout({ cwd })).toContain("cannot be the working directory");
    expect(complaintAbout({ cwd })).not.toContain("leads to");
  }
});

describe("the sandbox", () => {
  const policyOf = (type: (typeof SANDBOX_MODES)[number]): SandboxPolicy => (type === "workspace-write" ? WORKSPACE : { type });

  it.for([
    ["read-only", ["read-only"]],
    ["workspace-write", ["read-only", "workspace-write"]],
    ["danger-full-access", ["read-only", "workspace-write", "danger-full-access"]],
  ] as const)("a ceiling of %s lets through %j", ([maxSandbox, allowed]) => {
    const passed = SANDBOX_MODES.filter((mode) => complaintAbout({ sandboxPolicy: policyOf(mode) }, { maxSandbox }) === undefined);
    expect(passed).toEqual(allowed);
  });

  it("above the ceiling is refused with the ceiling and the setting that raises it", () => {
    expect(complaintAbout({ sandboxPolicy: { type: "danger-full-access" } })).toBe(
      "The sandbox danger-full-access is above the ceiling of this server, workspace-write. " +
        "Ask for workspace-write, or restart the server with --max-sandbox danger-full-access.",
    );
  });
});

describe("the working directory", () => {
  it.for(["allowed", "allowed/sub", "allowed/not/yet", "in", "in/deeper"])("%s is allowed", (cwd) => {
    expect(complaintAbout({ cwd: path.join(place, cwd) })).toBeUndefined();
  });

  it.for(["allowed-not", ".", "other", "allowed/out", "allowed/out/not/yet"])("%s is not", (cwd) => {
    expect(complaintAbout({ cwd: path.join(place, cwd) })).toMatch(/this server allows only .*allowed and below\. .*--allow-root/);
  });

  it("says where a link leads", () => {
    const link = path.join(place, "allowed/out");
    expect(complaintAbout({ cwd: link })).toBe(
      `${link} (it leads to ${place}/other) cannot be the working directory: this server allows only ${place}/allowed and below. ` +
        "Choose one of these, or restart the server with --allow-root for another one.",
    );
  });

  it("reveals nothing about links outside the caller's folders, nor whether anything is there", () => {
    const [chained, dangling, own] = ["chained", "dangling", "own"].map((name) => path.join(place, "allowed", name)) as [
      string,
      string,
      string,
    ];
    symlinkSync(path.join(place, "other"), path.join(place, "foreign"));
    symlinkSync(path.join(place, "foreign"), chained);
    symlinkSync(path.join(place, "nothing"), dangling);
    symlinkSync("chained", own);
    const told = [chained, dangling, own].map((cwd) => / \(it leads to .*?\)/.exec(complaintAbout({ cwd }) ?? "")?.[0]);
    expect(told).toEqual(["foreign", "nothing", "foreign"].map((name) => ` (it leads to ${place}/${name})`));
  });

  it("is checked again each time: a folder may have become a link", () => {
    const cwd = path.join(place, "allowed/swapped");
    mkdirSync(cwd);
    const before = complaintAbout({ cwd });
    rmSync(cwd, { recursive: true });
    symlinkSync(path.join(place, "other"), cwd);
    expect([before, complaintAbout({ cwd })]).toEqual([undefined, expect.stringContaining("(it leads to ")]);
  });

  it("holds under full access too", () => {
    const cwd = path.join(place, "other");
    expect(complaintAbout({ cwd, sandboxPolicy: { type: "danger-full-access" } }, { maxSandbox: "danger-full-access" })).toContain(
      "--allow-root",
    );
  });
});

describe("commands cannot read the server's own files", () => {
  it.for([
    ["allowed", "allowed/codex-home", false],
    ["allowed", "allowed/sub/.codex", false],
    ["allowed/sub", "allowed", false],
    ["in", "allowed", false],
    ["allowed/sub", "allowed/sub", false],
    ["allowed", "allowed/.codex", true],
    ["allowed/sub", "allowed/.codex", true],
    ["allowed", "codex-home", true],
  ] as const)("a thread in %s, the files in %s: %s", ([cwd, ownFiles, fine]) => {
    const complaint = complaintAbout({ cwd: path.join(place, cwd) }, { ownFiles: path.join(place, ownFiles) });
    expect(complaint).toEqual(fine ? undefined : expect.stringContaining(`keeps its own files in ${path.join(place, ownFiles)}`));
  });

  it("unless full access is allowed, which includes them anyway", () => {
    const ceilings = { maxSandbox: "danger-full-access", ownFiles: path.join(place, "allowed/codex-home") } as const;
    expect(complaintAbout({}, ceilings)).toBeUndefined();
  });

  it("in other folders that commands may write, too", () => {
    const policy = { ...WORKSPACE, writable_roots: [path.join(place, "allowed/sub")] };
    const ceilings = { ownFiles: path.join(place, "allowed/sub/codex-home") };
    expect(complaintAbout({ cwd: path.join(place, "in/x"), sandboxPolicy: policy }, ceilings)).toContain("keeps its own files");
  });
});

describe("what workspace-write also opens", () => {
  const writing = (more: Partial<typeof WORKSPACE> & { writable_roots?: readonly string[] }, ceilings: Partial<Ceilings> = {}) =>
    complaintAbout({ sandboxPolicy: { ...WORKSPACE, ...more } }, ceilings);
  const configured = (more: object) => ({ configured: (): SandboxPolicy => ({ ...WORKSPACE, ...more }) });

  it("folders within the allowed ones are fine, others are refused", () => {
    expect(writing({ writable_roots: [path.join(place, "allowed/sub")] })).toBeUndefined();
    expect(writing({ writable_roots: [path.join(place, "allowed/sub"), path.join(place, "other")] })).toMatch(
      /other cannot be a folder that commands may write: .*--allow-root/,
    );
    expect(writing({ writable_roots: [path.join(place, "allowed/out")] })).toContain("--allow-root");
  });

  it("folders in the configuration are the operator's decision", () => {
    const roots = { writable_roots: [path.join(place, "other")] };
    expect(writing(roots, configured(roots))).toBeUndefined();
  });

  it("the network is refused, unless the configuration opens it", () => {
    const network = { network_access: true } as object;
    expect(writing(network)).toMatch(/^Network access .* sandbox_workspace_write\.network_access .*--max-sandbox danger-full-access\.$/);
    expect(writing(network, configured(network))).toBeUndefined();
  });

  it("is all below a ceiling of full access", () => {
    const more = { network_access: true, writable_roots: ["/"] } as object;
    expect(writing(more, { maxSandbox: "danger-full-access" })).toBeUndefined();
  });
});

it.for([
  ["read-only", "read-only"],
  ["workspace-write", "workspace-write"],
  ["danger-full-access", undefined],
] as const)("under a ceiling of %s approvals reach as far as %s", ([maxSandbox, sandbox]) => {
  const { confinement } = turnLimits({
    maxSandbox,
    roots: [],
    ownFiles: "/none",
    configured: () => WORKSPACE,
    reach: { folders: undefined },
  });
  expect(confinement).toEqual(sandbox && { sandbox, reason: expect.stringContaining(`--max-sandbox ${maxSandbox}`) });
});
