import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { VisibleFiles } from "../../../exec/sandbox/hiddenPlaces.js";
import { isBelow } from "../../../platform/paths.js";
import { CodexRefused } from "../appServer/errors.js";
import { type ProfileRules, permissionProfile, readablePlaces } from "./permissionProfile.js";

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

it("a folder that contains CODEX_HOME is not opened at all", () => {
  const open = () => permissionProfile({ ...RULES, cwd: "/nowhere" });
  expect(open).toThrow(CodexRefused);
  expect(open).toThrow("/nowhere cannot be opened to callers by this Codex: it holds CODEX_HOME (/nowhere/home)");
});

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(path.join(homedir(), ".readable-")));
  for (const folder of ["home/.codex/sessions", "home/work/repo", "home/.config", "srv/keys", "srv/data"])
    mkdirSync(path.join(root, folder), { recursive: true });
  for (const file of ["home/notes.txt", "srv/token", "srv/readme"]) writeFileSync(path.join(root, file), "");
  symlinkSync(path.join(root, "home/.codex"), path.join(root, "home/link-to-hidden"));
  symlinkSync(path.join(root, "home"), path.join(root, "home/link-around-hidden"));
  symlinkSync(path.join(root, "srv/data"), path.join(root, "srv/link"));
});
afterEach(() => rmSync(root, { recursive: true }));

async function places(hidden: VisibleFiles["hidden"], shown: readonly string[] = []): Promise<string[]> {
  const inRoot = (name: string) => path.join(root, name);
  const files = { hidden: hidden.map((place) => ({ ...place, folder: inRoot(place.folder) })), shown: shown.map(inRoot) };
  const all = await readablePlaces(files);
  return all.filter((place) => isBelow(place, root)).map((place) => path.relative(root, place));
}

it("everything beside a hidden folder is readable, and no link leads into it or around it", async () => {
  expect((await places([{ folder: "home/.codex" }])).sort()).toEqual(["home/.config", "home/notes.txt", "home/work", "srv"]);
});

it("of a folder that others need, only the names that are secret are left out", async () => {
  expect((await places([{ folder: "srv", names: ["token", "not there yet"] }])).sort()).toEqual([
    "home",
    "srv/data",
    "srv/keys",
    "srv/link",
    "srv/readme",
  ]);
});

it("in a hidden home only shown folders are open, without the hidden places in them", async () => {
  expect(
    (await places([{ folder: "home" }, { folder: "home/work/repo" }, { folder: "srv" }], ["home/work", "home/.config"])).sort(),
  ).toEqual(["home/.config"]);
});

it("the rest of the machine is readable, except what Codex's sandbox mounts itself", async () => {
  const all = await readablePlaces({ hidden: [{ folder: path.join(root, "home") }], shown: [] });
  expect(all).toEqual(expect.arrayContaining(["/usr", "/etc"]));
  expect(all.filter((place) => ["/", "/proc", "/dev"].includes(place))).toEqual([]);
});

it("a caller's commands get no folder of someone else, wherever its path led when the request was checked", () => {
  const policy = (further: string) =>
    ({
      type: "workspace-write",
      writable_roots: [further],
      network_access: false,
      exclude_tmpdir_env_var: true,
      exclude_slash_tmp: true,
    }) as const;
  const own = { workRoots: ["/nowhere/ws", "/nowhere/own"], opensElsewhere: (given: string) => given === "/nowhere/given" };
  const written = (further: string, cwd = RULES.cwd) =>
    permissionProfile({ ...RULES, cwd, policy: policy(further), places: own })["filesystem"];
  expect(written("/nowhere/own")).toMatchObject({ "/nowhere/own": "write" });
  expect(written("/nowhere/given")).toMatchObject({ "/nowhere/given": "write" });
  for (const further of ["/nowhere/others", "/nowhere/own/.git/hooks"]) expect(() => written(further)).toThrow(CodexRefused);
  expect(() => written("/nowhere/own", "/nowhere/others")).toThrow(CodexRefused);
});
