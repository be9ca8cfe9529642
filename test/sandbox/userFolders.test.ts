import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { MAIN, type McpServer, type ServerStart, startServer, type ToolCall } from "../support/processes/mcpServer.js";
import { type Stage, setStage } from "../support/stage.js";
import { isMissing } from "./available.js";

const WORKSPACE_WRITE = {
  sandbox: "workspace-write",
  "approval-policy": "never",
  // Every server on the machine shares `/tmp`, and whether its names are there already depends on the others.
  config: { "sandbox_workspace_write.exclude_slash_tmp": true, "sandbox_workspace_write.exclude_tmpdir_env_var": true },
};
const IDENTITY = ["-c", "user.name=n", "-c", "user.email=e"];
const LOOK = "git status --porcelain --untracked-files=all; find . -name .git -prune -o -type f -print; git rev-parse --show-toplevel";

function git(folder: string, ...words: string[]): string {
  return execFileSync("git", ["-C", folder, ...words], { encoding: "utf8" });
}

function status(folder: string): string {
  return git(folder, "status", "--porcelain", "--untracked-files=all");
}

/** Without the files that a running server keeps for its next claims. */
function claimsInUse(stage: Stage): string[] {
  return claimsOf(stage).filter((name) => !name.startsWith("spare."));
}

function claimsOf({ codexHome }: Stage): string[] {
  const folder = path.join(codexHome, "mcp-server/placeholders");
  return existsSync(folder) ? readdirSync(folder) : [];
}

/** A fresh repository, and a command at work in it until `go` is there. */
async function commandAtWork(start: ServerStart & { readonly stage: Stage }): Promise<{ server: McpServer; call: ToolCall }> {
  const { workspace } = start.stage;
  if (!existsSync(path.join(workspace, ".git"))) git(workspace, "init", "-q");
  const server = await startServer(start);
  await server.initialize();
  const work = { command: `echo up; while [ ! -e ../go ]; do sleep 0.02; done; ${LOOK}`, timeout_ms: 600_000 };
  const call = server.call("codex", {
    prompt: `!call shell_command ${JSON.stringify(work)}\n!say done`,
    ...WORKSPACE_WRITE,
  });
  await call.event("exec_command_output_delta");
  return { server, call };
}

/** A thread is opened, and nothing runs in it. */
async function openThread(stage: Stage, options: object = WORKSPACE_WRITE): Promise<void> {
  await using server = await startServer({ stage });
  await server.initialize();
  await server.call("codex", { prompt: "!say hello", ...options }).result();
}

describe.skipIf(isMissing)("git sees nothing of ours in a fresh repository", () => {
  it("while a command runs, outside and inside the sandbox, and after it", async () => {
    await using stage = await setStage();
    const { server, call } = await commandAtWork({ stage });
    await using _ = server;
    const during = [status(stage.workspace), claimsOf(stage).length];
    writeFileSync(path.join(stage.root, "go"), "");
    expect((await call.event("exec_command_end"))["stdout"]).toBe(`up\n${stage.workspace}\n`);
    await call.result();
    expect([during, status(stage.workspace), readdirSync(stage.workspace), claimsInUse(stage)]).toEqual([["", 2], "", [".git"], []]);
  });

  it.for([
    ["SIGTERM", "SIGTERM"],
    ["SIGINT", "SIGINT"],
  ] as const)("after %s and %s", async (signals) => {
    await using stage = await setStage();
    const { server } = await commandAtWork({ stage });
    await using _ = server;
    for (const signal of signals) process.kill(server.process.pid, signal);
    await server.exit();
    expect([status(stage.workspace), readdirSync(stage.workspace), claimsOf(stage)]).toEqual(["", [".git"], []]);
  });

  it.for([WORKSPACE_WRITE, { sandbox: "danger-full-access" }])(
    "after kill -9, and the rest is removed when a thread opens: %o",
    async (options) => {
      await using stage = await setStage();
      const { server } = await commandAtWork({ stage });
      await using _ = server;
      process.kill(server.process.pid, "SIGKILL");
      await server.exit();
      const left = [status(stage.workspace), readdirSync(stage.workspace)];
      await openThread(stage, options);
      expect([left, readdirSync(stage.workspace), claimsOf(stage)]).toEqual([["", [".agents", ".codex", ".git"]], [".git"], []]);
    },
  );

  it("after kill -9 and the next start in another PID namespace, where placeholders are removed once their claims have lapsed", async () => {
    await using stage = await setStage();
    const { server } = await commandAtWork({ stage, command: inOtherNamespace() });
    await using _ = server;
    process.kill(server.process.pid, "SIGKILL");
    await server.exit();
    const left = status(stage.workspace);
    await openThread(stage);
    const meanwhile = [status(stage.workspace), readdirSync(stage.workspace)];
    const longAgo = new Date(Date.now() - 180_000);
    for (const name of claimsOf(stage)) utimesSync(path.join(stage.codexHome, "mcp-server/placeholders", name), longAgo, longAgo);
    await openThread(stage);
    expect([left, meanwhile, readdirSync(stage.workspace), claimsOf(stage)]).toEqual([
      "",
      ["", [".agents", ".codex", ".git"]],
      [".git"],
      [],
    ]);
  });

  it("while commands of two servers run in it, and after the longer one", async () => {
    await using stage = await setStage();
    const long = await commandAtWork({ stage });
    await using _ = long.server;
    await using other = await startServer({ stage });
    await other.initialize();
    const short = other.call("codex", { prompt: "!shell mkdir .codex/x || echo protected\n!say done", ...WORKSPACE_WRITE });
    await short.result();
    const during = [(await short.event("exec_command_end"))["stdout"], status(stage.workspace)];
    await other.closeAndWait();
    const held = [readdirSync(stage.workspace), claimsOf(stage).length];
    writeFileSync(path.join(stage.root, "go"), "");
    await long.call.result();
    expect([during, held]).toEqual([
      ["protected\n", ""],
      [[".agents", ".codex", ".git"], 2],
    ]);
    expect([readdirSync(stage.workspace), claimsInUse(stage)]).toEqual([[".git"], []]);
  });
});

it.skipIf(isMissing)("a command with full access that follows at once finds nothing of ours", async () => {
  await using stage = await setStage();
  await using server = await startServer({ stage });
  await server.initialize();
  const prompt = "!shell ls -A; mkdir .codex\n!say done";
  const first = server.call("codex", { prompt, ...WORKSPACE_WRITE });
  await first.result();
  const second = server.call("codex", { prompt, sandbox: "danger-full-access", "approval-policy": "never" });
  await second.result();
  const seen = [(await first.event("exec_command_end"))["stdout"], (await second.event("exec_command_end"))["stdout"]];
  expect([seen, readdirSync(stage.workspace)]).toEqual([[".agents\n.codex\n.git\n", ""], [".codex"]]);
});

function inOtherNamespace(): readonly [string, ...string[]] {
  const asOrdinaryUser = process.getuid?.() === 0 ? [] : ["--user", "--map-current-user"];
  return ["/usr/bin/unshare", ...asOrdinaryUser, "--pid", "--fork", "--kill-child=KILL", "--mount-proc", "--", process.execPath, MAIN];
}

describe.skipIf(isMissing)("a workspace inside a bigger repository", () => {
  /** The workspace is a folder of a repository with a commit. */
  async function insideRepository(): Promise<Stage> {
    const stage = await setStage();
    git(stage.root, "init", "-q");
    writeFileSync(path.join(stage.root, ".gitignore"), "codex-home\nhome\n");
    writeFileSync(path.join(stage.workspace, "file"), "x");
    git(stage.root, "add", ".");
    git(stage.root, ...IDENTITY, "commit", "-q", "-m", "first");
    return stage;
  }

  async function run(
    stage: Stage,
    script: string,
  ): Promise<{ readonly stdout: unknown; readonly stderr: unknown; readonly exitCode: unknown }> {
    await using server = await startServer({ stage });
    await server.initialize();
    const call = server.call("codex", { prompt: `!shell ${script}\n!say done`, ...WORKSPACE_WRITE });
    await call.result();
    const { stdout, stderr, exit_code: exitCode } = await call.event("exec_command_end");
    await server.closeAndWait();
    return { stdout, stderr, exitCode };
  }

  const asideIn = (folder: string) => readdirSync(folder).filter((name) => name.startsWith(".git.set-aside-"));

  it("has no .git of ours that would hide the repository", async () => {
    await using stage = await insideRepository();
    const { stdout } = await run(stage, "ls -A; git status --porcelain; git rev-parse --show-toplevel; git log --format=%s");
    expect(stdout).toBe(`.agents\n.codex\nfile\n${stage.root}\nfirst\n`);
    expect([status(stage.root), readdirSync(stage.workspace)]).toEqual(["", ["file"]]);
  });

  it("gets no repository from a command: a new .git is moved away and reported", async () => {
    await using stage = await insideRepository();
    const plant = "mkdir x && mkdir x/hooks && echo evil > x/hooks/pre-commit && echo 'ref: refs/heads/main' > x/HEAD && mv x .git";
    const { stderr } = await run(stage, `${plant}; sleep 0.3; ls -d .git || echo gone`);
    const [aside = ""] = asideIn(stage.workspace);
    expect(stderr).toContain(
      `${stage.workspace}/.git is protected. What was made there while the command ran is now ${stage.workspace}/${aside}.`,
    );
    expect([existsSync(path.join(stage.workspace, ".git")), readdirSync(path.join(stage.workspace, aside)).sort()]).toEqual([
      false,
      ["HEAD", "hooks"],
    ]);
  });

  it("has none either when the command ends at once, or names another folder", async () => {
    await using stage = await insideRepository();
    await run(stage, "git init -q; true");
    await run(stage, "echo 'gitdir: ../elsewhere' > .git");
    expect(existsSync(path.join(stage.workspace, ".git"))).toBe(false);
  });

  it("ends a command that makes one again and again", async () => {
    await using stage = await insideRepository();
    const { stderr, exitCode } = await run(stage, "while :; do mkdir -p x/y; mv x .git 2>/dev/null; done");
    expect([exitCode === 0, String(stderr).includes("The command was ended: it made .git repeatedly, which is protected.")]).toEqual([
      false,
      true,
    ]);
    expect(existsSync(path.join(stage.workspace, ".git"))).toBe(false);
    for (const name of asideIn(stage.workspace)) rmSync(path.join(stage.workspace, name), { recursive: true });
  });
});

describe.skipIf(isMissing)("a server with another CODEX_HOME in the same workspace", () => {
  it("cannot lose its protection without notice through the server that made the placeholder", async () => {
    await using stage = await setStage();
    const first = await commandAtWork({ stage });
    await using _ = first.server;
    const otherHome = path.join(stage.root, "other-home");
    mkdirSync(otherHome);
    await using other = await startServer({ stage, env: { CODEX_HOME: otherHome } });
    await other.initialize();
    const script =
      "echo up; while [ -e .codex ]; do sleep 0.02; done; mkdir .codex && echo x > .codex/config.toml; sleep 0.3; ls .codex || echo gone";
    const call = other.call("codex", { prompt: `!shell ${script}\n!say done`, ...WORKSPACE_WRITE });
    await call.event("exec_command_output_delta");
    writeFileSync(path.join(stage.root, "go"), "");
    await first.call.result();
    const { stderr } = await call.event("exec_command_end");
    await call.result();
    expect(stderr).toContain(`${stage.workspace}/.codex is protected. What was made there while the command ran is now`);
    expect(existsSync(path.join(stage.workspace, ".codex"))).toBe(false);
  });
});
