import { existsSync, mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { WritablePlaces } from "../../../exec/outside/outsidePrograms.js";
import type { SandboxPolicy } from "../../../exec/policies.js";
import type { Reach } from "../../../threads/limits.js";
import { HostEnvironment } from "./hostEnvironment.js";
import { ThreadFiles } from "./threadFiles.js";

const WORKSPACE_WRITE: SandboxPolicy = {
  type: "workspace-write",
  network_access: false,
  exclude_slash_tmp: true,
  exclude_tmpdir_env_var: true,
};

let home: string;
let workspace: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(path.join(tmpdir(), "thread-files-")));
  workspace = path.join(home, "work");
  mkdirSync(workspace);
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function make(...steps: string[]): string {
  const file = path.join(home, ...steps);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, "");
  return file;
}

function filesOf({ policy = WORKSPACE_WRITE, reach }: { policy?: SandboxPolicy; reach?: Reach } = {}): ThreadFiles {
  const codexHome = path.join(home, "codex-home");
  const host = new HostEnvironment({
    codexHome,
    env: { HOME: path.join(home, "user"), PATH: "/usr/bin" },
    serverCwd: workspace,
    writable: new WritablePlaces([]),
    secretFiles: [path.join(home, "tokens.d/tokens")],
    ownPrograms: [path.join(workspace, "node_modules/codex-mcpd/dist")],
  });
  return new ThreadFiles({ sandboxPolicy: policy }, host, { running: { reach }, workspace });
}

it("the folders around thousands of paths are looked up a few times", () => {
  let lookedUp = 0;
  const env = {
    PATH: "/usr/bin",
    get HOME() {
      lookedUp++;
      return path.join(home, "user");
    },
  };
  const host = new HostEnvironment({
    codexHome: path.join(home, "codex-home"),
    env,
    serverCwd: workspace,
    writable: new WritablePlaces([]),
  });
  const reach = { folders: [workspace], workRoots: [workspace] };
  const files = new ThreadFiles({ sandboxPolicy: WORKSPACE_WRITE }, host, { running: { reach }, workspace });
  const since = performance.now();
  const judged = Array.from(
    { length: 2_000 },
    (_, at) => files.mayWrite(path.join(workspace, `${at}`)) && files.mayRead(`${workspace}/${at}`),
  );
  expect(new Set(judged)).toEqual(new Set([true]));
  const most = 10 * (1 + (performance.now() - since) / 50);
  expect(lookedUp).toBeLessThan(most);
});

it("names that other programs run are guarded in every folder that the policy opens, and in git folders with other names", async () => {
  const guarded = [make("further/.vscode/tasks.json"), make("further/sub/.git/hooks/pre-commit"), make("further/deep/.mcp.json")];
  make("work/store/inner.git/HEAD");
  make("work/bare/HEAD");
  make("work/bare/worktrees/tree/HEAD");
  writeFileSync(path.join(home, "work/bare/worktrees/tree/commondir"), "../..\n");
  for (const name of ["HEAD", "objects/x", "refs/x"]) make("work/remote.git", name);
  const pushed = make("work/remote.git/refs/heads/main");
  const elsewhere = [
    make("work/remote.git/config"),
    make("work/remote.git/hooks/post-receive"),
    make("work/store/inner.git/config"),
    make("work/bare/hooks/pre-push"),
    make("work/bare/worktrees/tree/config"),
  ];
  writeFileSync(make("work/inner/.git"), "gitdir: ../store/inner.git\n");
  writeFileSync(make("work/tree/.git"), `gitdir: ${workspace}/bare/worktrees/tree\n`);
  // No repository is there: a `.git` file must not close just any folder.
  writeFileSync(make("work/decoy/.git"), "gitdir: ../src\n");
  const open = [make("work/src/a.ts"), make("further/a.ts"), pushed];
  const files = filesOf({ policy: { ...WORKSPACE_WRITE, writable_roots: [path.join(home, "further"), path.join(home, "further/deep")] } });
  await files.lookAround();
  expect([...guarded, ...elsewhere].filter(files.mayWrite)).toEqual([]);
  expect(open.filter(files.mayWrite)).toEqual(open);
});

it("a patch may write what commands may, and nothing that is hidden, protected or run by other programs", async () => {
  const existing = [
    make("work/.vscode/tasks.json"),
    make("work/sub/.git/hooks/pre-commit"),
    make("work/node_modules/codex-mcpd/dist/main.js"),
  ];
  const files = filesOf();
  await files.lookAround();
  const forbidden = [...existing, path.join(workspace, ".git/config"), path.join(home, "codex-home/config.toml"), path.join(home, "other")];
  expect(forbidden.filter(files.mayWrite)).toEqual([]);
  const allowed = [path.join(workspace, "a.txt"), path.join(workspace, ".envrc"), path.join(workspace, "sub/.vscode/x")];
  expect(allowed.filter(files.mayWrite)).toEqual(allowed);
});

it("what a turn creates is reported once, and stays usable to later turns; what others create does not", async () => {
  const files = filesOf();
  await files.lookAround();
  const own = make("work/.envrc");
  expect([(await files.findings()).made, (await files.findings()).made]).toEqual([[own], []]);
  const others = make("work/sub/.envrc");
  files.beginTurn();
  await files.lookAround();
  expect([own, others].map(files.mayWrite)).toEqual([true, false]);
  expect((await files.findings()).made).toEqual([]);
});

it("read-only turns and turns without file access search for nothing and report nothing", async () => {
  const files = filesOf({ policy: { type: "read-only" } });
  await files.lookAround();
  make("work/.envrc");
  expect([(await files.findings()).made, (await filesOf().findings()).made]).toEqual([[], []]);
});

it("the server reads for a thread what its commands could read, and nothing that the kernel makes up", () => {
  const { mayRead } = filesOf({ policy: { type: "read-only" } });
  const readable = [path.join(home, "other"), path.join(workspace, "a"), "/etc/passwd"];
  expect(readable.filter(mayRead)).toEqual(readable);
  const secret = [
    path.join(home, "codex-home/auth.json"),
    path.join(home, "tokens.d/tokens"),
    "/proc/self/environ",
    "/sys/kernel",
    "/dev/zero",
  ];
  expect(secret.filter(mayRead)).toEqual([]);
});

it("with full access a patch reads and writes what commands could, but nothing that the kernel makes up", () => {
  const { mayRead, mayWrite } = filesOf({ policy: { type: "danger-full-access" } });
  const file = path.join(home, "codex-home/config.toml");
  expect([mayRead(file), mayWrite(file), mayRead("/proc/self/environ"), mayWrite("/proc/self/mem")]).toEqual([true, true, false, false]);
});

it("a caller reads its own folders and not the home folder, temporary files or the folders of others", () => {
  const reach = { folders: [workspace], foreign: [path.join(home, "bob")] };
  mkdirSync(path.join(home, "user"));
  const { mayRead, mayWrite } = filesOf({ reach });
  const secret = [path.join(home, "user/.ssh/id"), "/tmp/x", "/var/tmp/x", path.join(home, "bob/x")];
  expect([secret.filter(mayRead), secret.filter(mayWrite), mayRead(path.join(workspace, "a"))]).toEqual([[], [], true]);
});

it("a caller's temporary folder lies where no command sees it, and is removed with the thread", async () => {
  const files = filesOf({ reach: { folders: [workspace] } });
  const tmp = files.caller()?.tmp() ?? "";
  expect([path.dirname(tmp), existsSync(tmp), files.caller()?.tmp()]).toEqual([path.join(home, "codex-home/mcp-server/tmp"), true, tmp]);
  files.close();
  await expect.poll(() => existsSync(tmp)).toBe(false);
});

it("a link put in the place of the thread's folder opens nothing", async () => {
  const files = filesOf();
  mkdirSync(path.join(home, "elsewhere"));
  renameSync(workspace, path.join(home, "away"));
  symlinkSync(path.join(home, "elsewhere"), workspace);
  await files.lookAround();
  expect([path.join(home, "elsewhere/x"), path.join(workspace, "x")].filter(files.mayWrite)).toEqual([]);
});

it("a caller's thread writes only where the caller may work, even if its folder became a link", () => {
  const files = filesOf({ reach: { folders: [workspace], workRoots: [path.join(home, "other")] } });
  expect(files.mayWrite(path.join(workspace, "x"))).toBe(false);
});

it("a caller's thread reads and writes nothing in a further folder of someone else, wherever its path led before", () => {
  const further = path.dirname(make("further/notes"));
  const file = path.join(further, "notes");
  const reach = { folders: [workspace], workRoots: [workspace], foreign: [home] };
  const policy: SandboxPolicy = { ...WORKSPACE_WRITE, writable_roots: [further] };
  const [stranger, invited] = [
    filesOf({ policy, reach }),
    filesOf({ policy, reach: { ...reach, opensElsewhere: (folder: string) => folder === further } }),
  ];
  expect([stranger.mayRead(file), stranger.mayWrite(file)]).toEqual([false, false]);
  expect([invited.mayRead(file), invited.mayWrite(file)]).toEqual([true, true]);
});
