import { randomUUID } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RootRefused } from "../../src/exec/errors.js";
import { WritablePlaces } from "../../src/exec/outside/outsidePrograms.js";
import type { SandboxPolicy } from "../../src/exec/policies.js";
import { runCommand } from "../../src/exec/run.js";
import { openSandbox, type SandboxOptions, type WrapOptions } from "../../src/exec/sandbox/backend.js";
import { planMounts } from "../../src/exec/sandbox/fileView.js";
import { GuardedNameSearch } from "../../src/exec/sandbox/guardedNameSearch.js";
import { callerView, secretPlaces } from "../../src/exec/sandbox/hiddenPlaces.js";
import { resolvedAsFarAsPossible } from "../../src/platform/paths.js";
import { eventually } from "../support/eventually.js";
import { sandbox as found } from "./available.js";

const NOTHING_ELSE = { type: "workspace-write", network_access: false, exclude_slash_tmp: true, exclude_tmpdir_env_var: true } as const;
const WITH_TMP: SandboxPolicy = { type: "workspace-write", network_access: false, exclude_slash_tmp: false, exclude_tmpdir_env_var: false };
const FULL: SandboxPolicy = { type: "danger-full-access" };
const SECRET = "top-secret";

let home: string;
let workspace: string;
beforeEach(() => {
  home = realpathSync(mkdtempSync(path.join(tmpdir(), "places-")));
  workspace = folder("work");
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

function folder(...steps: string[]): string {
  const made = path.join(home, ...steps);
  mkdirSync(made, { recursive: true });
  return made;
}

function file(text: string, ...steps: string[]): string {
  const made = path.join(home, ...steps);
  mkdirSync(path.dirname(made), { recursive: true });
  writeFileSync(made, text);
  return made;
}

interface Situation extends Partial<Omit<WrapOptions, "env" | "cwd">>, Pick<SandboxOptions, "hidden" | "ownPrograms"> {
  readonly env?: Record<string, string>;
}

/** The output of a script, inside the sandbox or without it. An attempt that fails in both proves nothing. */
async function play(script: string, situation: Situation = {}): Promise<string> {
  const { hidden = [], ownPrograms = [], policy = NOTHING_ELSE, env = {}, ...rest } = situation;
  const sandbox = await openSandbox({ env: { ...process.env, ...env }, writable: new WritablePlaces([]), hidden, ownPrograms });
  const place = { policy, workspace, cwd: rest.workspace ?? workspace, env: { PATH: process.env["PATH"] ?? "", HOME: home }, ...rest };
  try {
    const { stdout } = await runCommand(sandbox.wrap(["bash", "-c", script], place), { timeoutMs: 20_000 }).result;
    return stdout.trim();
  } finally {
    sandbox.close();
  }
}

async function bothWays(script: string, situation: Situation = {}): Promise<{ readonly confined: string; readonly free: string }> {
  return { confined: await play(script, situation), free: await play(script, { policy: FULL }) };
}

const HELD = { confined: "", free: "ESCAPED" };

describe.skipIf(found.backend !== "bubblewrap")("places that no command reaches", () => {
  it.each([
    ["in the shared temporary folder", () => folder("codex-home"), {}],
    ["in $TMPDIR", () => folder("tmpdir/codex-home"), { TMPDIR: "tmpdir" }],
    ["in the workspace, whatever its name", () => folder("work/deep/settings"), {}],
  ])("a folder of the server %s is neither read nor written", async (_, make, env) => {
    const codexHome = make();
    file(SECRET, path.relative(home, codexHome), "auth.json");
    const situation = {
      policy: WITH_TMP,
      hidden: [{ folder: codexHome }],
      env: Object.fromEntries(Object.entries(env).map(([name, value]) => [name, path.join(home, value)])),
    };
    expect(await bothWays(`cat ${codexHome}/auth.json >/dev/null && echo ESCAPED`, situation)).toEqual(HELD);
    const write = `echo '[mcp_servers.x]' > ${codexHome}/config.toml && echo ESCAPED`;
    expect(await play(write, situation)).toBe("");
    expect(await play(`mv ${path.dirname(codexHome)} ${home}/moved && echo ESCAPED`, situation)).toBe("");
    expect(existsSync(path.join(codexHome, "config.toml"))).toBe(false);
  });

  it("a file that is created in a hidden folder while a command runs is not visible to it", async () => {
    const codexHome = folder("codex-home");
    const script = `touch started; until [ -e go ]; do sleep 0.01; done; cat ${codexHome}/auth.json ${codexHome}/archived_sessions/x 2>/dev/null; echo looked`;
    const running = play(script, { hidden: [{ folder: codexHome }] });
    await eventually("the command runs", () => existsSync(path.join(workspace, "started")) || undefined);
    file(SECRET, "codex-home/auth.json");
    file(SECRET, "codex-home/archived_sessions/x");
    file("", "work/go");
    expect(await running).toBe("looked");
  });

  it.each([
    ["a folder of its own", "tokens.d/tokens", {}],
    ["a folder that people and programs use", "tokens", {}],
    ["a folder that links to what is swapped", "k8s/tokens", { linked: true }],
  ])("a token file in %s stays hidden when it is replaced", async (_, name, { linked = false }: { linked?: boolean }) => {
    if (linked) {
      file(SECRET, "k8s/..old/tokens");
      symlinkSync("..old", path.join(home, "k8s/..data"));
      symlinkSync("..data/tokens", path.join(home, name));
    } else file(SECRET, name);
    file("for everybody", "beside");
    const tokens = path.join(home, name);
    const script = `cat ${tokens} 2>/dev/null; touch started; until [ -e go ]; do sleep 0.01; done; cat ${tokens} 2>/dev/null; cat ../beside`;
    const running = play(script, { hidden: secretPlaces(tokens, { HOME: home, PATH: "" }) });
    await eventually("the command runs", () => existsSync(path.join(workspace, "started")) || undefined);
    if (linked) {
      file(SECRET, "k8s/..new/tokens");
      symlinkSync("..new", path.join(home, "k8s/..data.new"));
      renameSync(path.join(home, "k8s/..data.new"), path.join(home, "k8s/..data"));
    } else renameSync(file(SECRET, `${name}.new`), tokens);
    file("", "work/go");
    expect(await running).toBe("for everybody");
  });

  it("programs of the server cannot be changed, although they lie in the workspace", async () => {
    const program = file("the program", "work/node_modules/codex-mcpd/dist/main.js");
    const node = file("the runtime", "work/tools/node");
    const situation = { ownPrograms: [path.dirname(program), node] };
    const attempts = [
      `echo x > ${program}`,
      `echo x > ${node}`,
      `touch ${path.dirname(program)}/new.js`,
      "mv node_modules other",
      "rm -f tools/node",
    ];
    for (const attempt of attempts) expect(await play(`${attempt} && echo ESCAPED`, situation), attempt).toBe("");
    expect(await play(`cat ${program} ${node}; echo x > node_modules/codex-mcpd/other && echo written`, situation)).toBe(
      "the programthe runtimewritten",
    );
  });

  it("a workspace in a hidden folder works, and the rest of it stays hidden", async () => {
    const codexHome = folder("codex-home");
    file(SECRET, "codex-home/auth.json");
    const inside = folder("codex-home/worktrees/w");
    const situation = { workspace: inside, hidden: [{ folder: codexHome }] };
    expect(await play(`echo x > made && cat made ../../auth.json 2>/dev/null; ls ..`, situation)).toBe("x\nw");
    expect(await play(`cat made ../../auth.json 2>/dev/null`, { ...situation, policy: { type: "read-only" } })).toBe("x");
  });

  it("a sealed folder contains workspaces only in its named entries, and a swapped link leads nowhere", async () => {
    const codexHome = folder("codex-home");
    const hidden = [{ folder: codexHome, sealedBut: ["worktrees"] }];
    const tree = folder("codex-home/worktrees/w");
    expect(await play("echo x > made && cat made", { workspace: tree, hidden })).toBe("x");
    for (const policy of [NOTHING_ELSE, { type: "read-only" } as const])
      await expect(play("true", { workspace: folder("codex-home/rules"), hidden, policy })).rejects.toThrow(RootRefused);
    symlinkSync(folder("elsewhere"), path.join(home, "link"));
    await expect(play("true", { workspace: path.join(home, "link") })).rejects.toThrow(RootRefused);
    await expect(play("true", { workRoots: [path.join(home, "elsewhere")] })).rejects.toThrow(RootRefused);
  });

  it("a caller's commands get no further folder of someone else, wherever its path led when the request was checked", async () => {
    const [own, others] = [folder("own"), folder("others")];
    folder("own/.git/hooks");
    file(SECRET, "others/secret");
    const asking = (root: string) => ({ policy: { ...NOTHING_ELSE, writable_roots: [root] }, workRoots: [workspace, own] });
    const attempt = (root: string) => `cat ${root}/* 2>/dev/null; echo x > ${root}/made && echo made`;
    expect(await play(attempt(own), asking(own))).toBe("made");
    for (const root of [others, path.join(own, ".git/hooks")]) await expect(play(attempt(root), asking(root))).rejects.toThrow(RootRefused);
    expect(await play(attempt(others), { ...asking(others), opensElsewhere: (given: string) => given === others })).toBe(`${SECRET}made`);
  });

  it.each([
    ["has files", () => file("the user's", "work/.agents/notes")],
    ["is empty", () => folder("work/.agents")],
    ["does not exist", () => undefined],
  ])("a protected name that %s and becomes a link while the sandbox is set up does not lead to what is hidden", async (_, make) => {
    const codexHome = folder("codex-home");
    file(SECRET, "codex-home/auth.json");
    make();
    const sandbox = await openSandbox({ env: process.env, writable: new WritablePlaces([]), hidden: [{ folder: codexHome }] });
    const script = `cat .agents/auth.json ${codexHome}/auth.json; echo ran`;
    const place = { policy: NOTHING_ELSE, workspace, cwd: workspace, env: { PATH: process.env["PATH"] ?? "" } };
    try {
      const launch = sandbox.wrap(["bash", "-c", script], place);
      renameSync(path.join(workspace, ".agents"), path.join(workspace, "aside"));
      // A relative link leads to the mask's place too, over which the folder behind it was mounted.
      symlinkSync("../codex-home", path.join(workspace, ".agents"));
      const outcome = runCommand(launch, { timeoutMs: 20_000 }).result.then(({ stdout }) => stdout, String);
      expect(await outcome).not.toContain(SECRET);
    } finally {
      sandbox.close();
    }
  });

  it("a protected folder that something removes while the sandbox is set up is protected all the same", async () => {
    const sandbox = await openSandbox({ env: process.env, writable: new WritablePlaces([]) });
    const place = { policy: NOTHING_ELSE, workspace, cwd: workspace, env: { PATH: process.env["PATH"] ?? "" } };
    try {
      // As a server with another home does with its placeholder.
      const foreign = folder("work/.agents");
      const launch = sandbox.wrap(["bash", "-c", "mkdir -p .agents/x || echo kept"], place);
      rmSync(foreign, { recursive: true });
      expect((await runCommand(launch, { timeoutMs: 20_000 }).result).stdout).toBe("kept\n");
    } finally {
      sandbox.close();
    }
    expect(existsSync(path.join(workspace, ".agents"))).toBe(false);
  });

  it("the server's own folder is never the workspace", async () => {
    await expect(play("true", { hidden: [{ folder: workspace }] })).rejects.toThrow(RootRefused);
    await expect(play("true", { workspace: "/usr/bin" })).rejects.toThrow(RootRefused);
  });

  it("folders of the system cannot be changed even if everything is writable", async () => {
    const name = `planted-${randomUUID()}`;
    expect(await play(`echo x > /usr/bin/${name} && echo ESCAPED; echo x > ${workspace}/made && echo written`, { workspace: "/" })).toBe(
      "written",
    );
  });
});

describe.skipIf(found.backend !== "bubblewrap")("names that other programs run", () => {
  it("are read-only where they exist, nested ones too, and can be created where they do not", async () => {
    file("{}", "work/.mcp.json");
    file("{}", "work/packages/a/.vscode/tasks.json");
    file("[core]", "work/vendor/lib/.git/config");
    file("ref: refs/heads/main", "work/vendor/lib/.git/HEAD");
    folder("work/vendor/lib/.git/hooks");
    file("gitdir: ../../.git/modules/module", "work/vendor/module/.git");
    file("[core]", "work/.git/config");
    const { names: guarded } = await new GuardedNameSearch().find(workspace);
    expect(guarded.map((name) => path.relative(workspace, name)).sort()).toEqual([
      ".mcp.json",
      "packages/a/.vscode",
      "vendor/lib/.git",
      "vendor/module/.git",
    ]);
    const attempts = [
      "echo x > .mcp.json",
      "rm -f .mcp.json",
      "mv packages/a/.vscode x",
      "mv packages other",
      "echo x > packages/a/.vscode/tasks.json",
      "echo x > vendor/lib/.git/config",
      "echo x > vendor/lib/.git/hooks/pre-commit",
      "mv vendor/lib/.git x",
      "echo ../evil > vendor/lib/.git/commondir",
      "echo gitdir: ../evil > vendor/module/.git",
      "mv vendor/lib x",
    ];
    for (const attempt of attempts) expect(await play(`${attempt} && echo ESCAPED`, { guarded }), attempt).toBe("");
    expect(await play("mkdir .vscode && echo x > .vscode/tasks.json && echo x > vendor/lib/made && echo made", { guarded })).toBe("made");
  });

  it("include the files in which other agents and editors name their servers, hooks and plugins, and nothing beside them", async () => {
    const run = [
      ".cursor/hooks.json",
      ".kilocode/mcp.json",
      ".kiro/settings/mcp.json",
      ".opencode/plugins/a.ts",
      ".qwen/settings.json",
      ".roo/mcp.json",
      ".zed/tasks.json",
      "opencode.json",
      "sub/.devcontainer/devcontainer.json",
    ];
    const beside = [".cursor/rules/a.mdc", ".kiro/steering/a.md", ".opencode/agent/a.md", ".roo/rules/a.md"];
    for (const name of [...run, ...beside]) file("x", `work/${name}`);
    const { names: guarded } = await new GuardedNameSearch().find(workspace);
    for (const name of run) expect(await play(`echo y > ${name} && echo ESCAPED`, { guarded }), name).toBe("");
    for (const name of beside) expect(await play(`echo y > ${name} && echo changed`, { guarded }), name).toBe("changed");
  });

  it("are read-only in folders whose names are not UTF-8, with their contents", async () => {
    const inside = (...steps: string[]) =>
      Buffer.concat([Buffer.from(`${workspace}/caf`), Buffer.of(0xe9), Buffer.from(path.join("/", ...steps))]);
    for (const name of [".vscode", "sub/.git/hooks"]) mkdirSync(inside(name), { recursive: true });
    writeFileSync(inside(".vscode/tasks.json"), "mine");
    file("x", "work/\u{fffd}/.envrc");
    const { names, places: guarded } = await new GuardedNameSearch().find(workspace);
    expect(names).toHaveLength(3);
    const attempts = [
      "cd caf* && echo x > .vscode/tasks.json",
      "cd caf* && echo x > sub/.git/hooks/pre-commit",
      "cd caf* && mv .vscode x",
      "mv caf* x",
      "echo x > */.envrc",
    ];
    for (const attempt of attempts) expect(await play(`${attempt} && echo ESCAPED`, { guarded }), attempt).toBe("");
    expect(await play("cd caf* && echo x > made && echo made", { guarded })).toBe("made");
    expect(readFileSync(inside(".vscode/tasks.json"), "utf8")).toBe("mine");
  });

  it("are found within bounds, and never through links", async () => {
    for (let at = 0; at < 300; at++) file("x", `work/p${at}/.envrc`);
    file("x", "elsewhere/.envrc");
    symlinkSync(path.join(home, "elsewhere"), path.join(workspace, "a-link"));
    symlinkSync(path.join(home, "elsewhere/.envrc"), path.join(workspace, ".envrc"));
    file("x", "work/node_modules/pkg/.envrc");
    const { names, isComplete } = await new GuardedNameSearch().find(workspace);
    expect([names.length, isComplete, names.filter((name) => !/\/work\/p\d+\/\.envrc$/.test(name))]).toEqual([256, false, []]);
    const own = new Set(names.slice(0, 200));
    expect(await new GuardedNameSearch().find(workspace, { besides: own })).toMatchObject({ isComplete: true, names: { length: 100 } });
  });

  it("are protected with a limited number of mounts, however deep they lie", async () => {
    const deep = Array.from({ length: 20 }, () => "e").join("/");
    for (let at = 0; at < 100; at++) file("x", `work/p${at}/${deep}/.envrc`);
    const shallow = file("x", "work/near/.envrc");
    const { names: guarded, isComplete } = await new GuardedNameSearch().find(workspace);
    expect([isComplete, guarded.includes(shallow)]).toEqual([false, true]);
    const roots = [{ given: workspace, root: workspace, links: [], protectedPaths: [], kept: guarded, temporary: false }];
    expect(planMounts({ roots, hidden: [], shown: [] }).length).toBeLessThan(600);
    expect(await play("echo y > near/.envrc || echo kept", { guarded })).toBe("kept");
  });

  it("are remembered: new folders do not remove their protection", async () => {
    const guarded = file("x", "work/a/b/c/.envrc");
    const search = new GuardedNameSearch();
    expect((await search.find(workspace)).names).toEqual([guarded]);
    for (let at = 0; at < 1_600; at++) folder(`work/decoys/${at}`);
    expect(await search.find(workspace)).toEqual({ names: [guarded], closed: [], places: [guarded], isComplete: false });
    expect(await search.find(workspace, { besides: new Set([guarded]) })).toMatchObject({ names: [] });
  });

  it("are not held open while a command runs, nor are the folders on their paths", async () => {
    const guarded = [file("x", "work/.envrc"), file("x", "work/sub/.envrc")];
    const onTheWay = folder("work/sub");
    const running = play("touch started; until [ -e go ]; do sleep 0.01; done; echo x > .envrc || echo kept", { guarded });
    await eventually("the command runs", () => existsSync(path.join(workspace, "started")) || undefined);
    const open = readdirSync("/proc/self/fd").map((fd) => resolvedAsFarAsPossible(`/proc/self/fd/${fd}`));
    expect(open.filter((held) => [...guarded, onTheWay].includes(held))).toEqual([]);
    file("", "work/go");
    expect(await running).toBe("kept");
  });

  it("that became a link meanwhile open nothing that is hidden", async () => {
    const codexHome = folder("codex-home");
    file(SECRET, "codex-home/auth.json");
    symlinkSync(codexHome, path.join(workspace, ".vscode"));
    const situation = { guarded: [path.join(workspace, ".vscode")], hidden: [{ folder: codexHome }] };
    expect(await play("cat .vscode/auth.json 2>/dev/null; echo looked", situation)).toBe("looked");
  });
});

describe.skipIf(found.backend !== "bubblewrap")("a caller over the network", () => {
  function asCaller(folders: readonly string[], foreign: readonly string[] = []): Situation {
    const env = { HOME: path.join(home, "user"), PATH: `${home}/user/.cargo/bin:/usr/bin:/bin` };
    return { policy: WITH_TMP, env, caller: callerView({ folders, foreign, env, tmp: () => folder("own-tmp") }) };
  }

  it("sees of the home folder only its own folders, tools on the path and git's configuration", async () => {
    const mine = folder("user/projects/mine");
    for (const name of [".ssh/id", ".cargo/credentials.toml", "projects/other/x", ".netrc"]) file(SECRET, "user", name);
    file("tool", "user/.cargo/bin/tool");
    file("[user]", "user/.gitconfig");
    const look = `cd ${home}/user; cat .ssh/id .cargo/credentials.toml projects/other/x .netrc 2>/dev/null; cat .cargo/bin/tool .gitconfig; ls -A . projects`;
    const situation = { ...asCaller([mine]), workspace: mine };
    expect(await play(`echo x > made; ${look}`, situation)).toBe("tool[user].:\n.cargo\n.gitconfig\nprojects\n\nprojects:\nmine");
    expect(await play("cat made; touch no || echo read-only", { ...situation, policy: { type: "read-only" } })).toBe("x\nread-only");
  });

  it("does not see the folders of other callers", async () => {
    const [mine, other] = [folder("roots/mine"), folder("roots/other")];
    file(SECRET, "roots/other/x");
    expect(await play(`cat ${other}/x 2>/dev/null; echo looked`, { ...asCaller([mine], [other]), workspace: mine })).toBe("looked");
  });

  it("has a /tmp of its own, which its next command finds again", async () => {
    const secret = path.join(tmpdir(), `places-${randomUUID()}`);
    const note = `/tmp/note-${randomUUID()}`;
    writeFileSync(secret, SECRET);
    try {
      const situation = { ...asCaller([workspace]) };
      expect(await play(`cat ${secret} 2>/dev/null; echo mine > ${note}; pwd; echo x > made`, situation)).toBe(workspace);
      expect(await play(`cat ${note} made`, situation)).toBe("mine\nx");
      const again = `cat ${note}; echo x > ${note} 2>/dev/null || echo read-only`;
      expect(await play(again, { ...situation, policy: { type: "read-only" } })).toBe("mine\nread-only");
      expect(existsSync(note)).toBe(false);
    } finally {
      rmSync(secret);
    }
  });
});
