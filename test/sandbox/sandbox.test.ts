import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
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
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { ProgramNotStarted, RootRefused, SandboxFailed, WorkingFolderMissing } from "../../src/exec/errors.js";
import { WritablePlaces } from "../../src/exec/outside/outsidePrograms.js";
import type { SandboxPolicy } from "../../src/exec/policies.js";
import { type CommandResult, runCommand } from "../../src/exec/run.js";
import { openSandbox, type Sandbox, type WrapOptions } from "../../src/exec/sandbox/backend.js";
import { bundle } from "../support/processes/bundledProgram.js";
import { isMissing, sandbox } from "./available.js";

const WORKSPACE_WRITE = {
  type: "workspace-write",
  network_access: false,
  exclude_slash_tmp: true,
  exclude_tmpdir_env_var: true,
} as const satisfies SandboxPolicy;
const WITH_TMP: SandboxPolicy = { ...WORKSPACE_WRITE, exclude_slash_tmp: false };
const PATH = process.env["PATH"] ?? "";

let folder: string;
let workspace: string;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), "sandbox-")));
  workspace = path.join(folder, "workspace");
  mkdirSync(workspace);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));
afterAll(() => sandbox.close());

function bash(script: string, options: Partial<WrapOptions> = {}, around: Sandbox = sandbox): Promise<CommandResult> {
  const launch = around.wrap(["bash", "-c", script], { policy: WORKSPACE_WRITE, workspace, cwd: workspace, env: { PATH }, ...options });
  return runCommand(launch, { timeoutMs: 10_000 }).result;
}

describe.skipIf(isMissing)("a sandboxed command", () => {
  it("can do what commands usually do", async () => {
    const script = [
      "set -e",
      "echo text > file; mkdir -p a/b; mv file a/b/file; cat a/b/file; rm -r a",
      "(echo child | cat) && echo warning > /dev/stderr",
      "git init -q repo && git -C repo -c user.name=n -c user.email=e commit -q --allow-empty -m first && git -C repo log --format=%s",
      `${process.execPath} -e 'require("child_process").execFileSync("true"); console.log("node")'`,
      // Uses a socket pair to talk to its child.
      `echo 'process.send("pair"); process.disconnect()' > child.cjs`,
      `${process.execPath} -e 'require("child_process").fork("./child.cjs").on("message", (said) => console.log(said))'`,
      "install -m 755 child.cjs copy && cp -p copy again && chmod 1777 . && tar cf all.tar copy && tar xpf all.tar && rm child.cjs copy again",
      "touch /dev/shm/x && [ -w /dev/null ] && [ -e /proc/self/status ] && [ -e /dev/tty ]",
      "sleep 0.01 & wait",
    ].join("\n");
    expect(await bash(script)).toMatchObject({ exitCode: 0, stdout: "text\nchild\nfirst\nnode\npair\n", stderr: "warning\n" });
  });

  it("starts in the given folder, and writes in the thread's folder", async () => {
    mkdirSync(path.join(folder, "elsewhere"));
    const result = await bash(`pwd; touch here; touch ${workspace}/there`, { cwd: path.join(folder, "elsewhere") });
    expect(result).toMatchObject({
      exitCode: 0,
      stdout: `${folder}/elsewhere\n`,
      stderr: expect.stringContaining("Read-only file system"),
    });
    expect([readdirSync(folder).sort(), readdirSync(workspace)]).toEqual([["elsewhere", "workspace"], ["there"]]);
  });

  it("gets its own environment and nothing else", async () => {
    const env = { PATH, ONE: "1", EMPTY: "", LINES_OF_TEXT: "a\nb" };
    const { stdout } = await runCommand(sandbox.wrap(["env", "-0"], { policy: WORKSPACE_WRITE, workspace, cwd: workspace, env })).result;
    expect(stdout.split("\0").sort()).toEqual(["", "EMPTY=", "LINES_OF_TEXT=a\nb", "ONE=1", `PATH=${PATH}`, `PWD=${workspace}`]);
  });

  it("reaches the network when the policy allows it", async () => {
    const server = createServer((socket) => socket.end("reached"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" ? address?.port : 0;
    const script = `exec 3<>/dev/tcp/127.0.0.1/${port}; cat <&3`;
    const allowed = await bash(script, { policy: { ...WORKSPACE_WRITE, network_access: true } });
    const forbidden = await bash(script);
    server.close();
    expect([allowed.stdout, forbidden.stdout]).toEqual(["reached", ""]);
  });

  it("may write /tmp unless that is excluded", async () => {
    const script = 'f=$(mktemp /tmp/sandbox-test-XXXXXX) && rm "$f"';
    expect([(await bash(script, { policy: WITH_TMP })).exitCode, (await bash(script)).exitCode]).toEqual([0, 1]);
  });

  it("may write everything but the system's own files when that is configured", async () => {
    const policy = { ...WORKSPACE_WRITE, writable_roots: ["/"] };
    const script = `echo x > ${folder}/outside && [ ! -w /sys/kernel/notes ] && ! : > /proc/sys/kernel/core_pattern && mkdir .git/hooks`;
    expect(await bash(script, { policy })).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/core_pattern.*\n.*\.git\/hooks.*Read-only/),
    });
    expect(readdirSync(folder).sort()).toEqual(["outside", "workspace"]);
  });

  it("does not see that the folder around its repository holds placeholders", async () => {
    execFileSync("git", ["init", "-q", folder]);
    expect(await bash("git rev-parse --show-toplevel")).toMatchObject({ exitCode: 0, stdout: `${folder}\n` });
  });
});

describe.skipIf(isMissing)("a folder that commands must not make", () => {
  it("is held while they run, and gone afterwards", async () => {
    const { stdout } = await bash("ls -A");
    expect([stdout, readdirSync(workspace)]).toEqual([".agents\n.codex\n.git\n", []]);
  });

  it("is held for as long as one of several commands runs", async () => {
    const long = runCommand(
      sandbox.wrap(["bash", "-c", "read line; mkdir .git/hooks .codex/x .agents/x"], {
        policy: WORKSPACE_WRITE,
        workspace,
        cwd: workspace,
        env: { PATH },
      }),
      { stdin: "pipe" },
    );
    const another = await openSandbox({ env: process.env, writable: new WritablePlaces([]) });
    onTestFinished(() => another.close());
    await Promise.all([bash("true"), bash("true"), bash("true", {}, another)]);
    await long.write("go on\n");
    const { stderr } = await long.result;
    expect(stderr.match(/Read-only file system/g)).toHaveLength(3);
    expect(readdirSync(workspace)).toEqual([]);
  });

  it("stays when the user makes something of it meanwhile", async () => {
    const running = runCommand(sandbox.wrap(["cat"], { policy: WORKSPACE_WRITE, workspace, cwd: workspace, env: { PATH } }), {
      stdin: "pipe",
    });
    await running.write("");
    execFileSync("git", ["init", "-q", workspace]);
    running.stop();
    await running.result;
    expect(readdirSync(workspace)).toEqual([".git"]);
    expect(readdirSync(path.join(workspace, ".git"))).toContain("HEAD");
  });
});

describe.skipIf(isMissing)("a root that cannot be enforced", () => {
  it("is refused when a protected name is a link", async () => {
    symlinkSync(folder, path.join(workspace, ".codex"));
    expect(() => sandbox.wrap(["true"], { policy: WORKSPACE_WRITE, workspace, cwd: workspace, env: {} })).toThrow(RootRefused);
  });

  it("is refused when a command replaced it by a link", async () => {
    const policy: SandboxPolicy = { ...WORKSPACE_WRITE, writable_roots: [path.join(workspace, "sub")] };
    mkdirSync(path.join(workspace, "sub"));
    const result = await bash(`rmdir sub; mv sub away; ln -s ${folder} link`, { policy });
    expect(result.stderr).toContain("Device or resource busy");
    // A command under another policy could do this.
    renameSync(path.join(workspace, "sub"), path.join(workspace, "away"));
    symlinkSync("/", path.join(workspace, "sub"));
    expect(() => sandbox.wrap(["true"], { policy, workspace, cwd: workspace, env: {} })).toThrow(RootRefused);
  });
});

/** Exchanges two names repeatedly; perl knows this system call only by its number. */
const RENAMEAT2 = process.arch === "arm64" ? 276 : 316;
const EXCHANGER = `my ($a, $b) = @ARGV; $| = 1; while (1) { syscall(${RENAMEAT2}, -100, $a, -100, $b, 2); print "." unless $n++; select(undef, undef, undef, 0.0003) }`;

it.skipIf(isMissing)("a root that is repeatedly replaced by a link never opens the link's target", async () => {
  const outside = path.join(folder, "outside");
  const link = path.join(folder, "link");
  mkdirSync(outside);
  symlinkSync(outside, link);
  const attacker = spawn("/usr/bin/env", ["perl", "-e", EXCHANGER, workspace, link], { stdio: ["ignore", "pipe", "inherit"] });
  await once(attacker.stdout, "data");
  const outcomes = new Set<string>();
  for (let attempt = 0; attempt < 150; attempt++) {
    const outcome = await Promise.resolve()
      .then(() => bash(`echo x > ${outside}/escaped`, { cwd: "/" }))
      .then(
        ({ exitCode }) => (exitCode === 0 ? "escaped" : "contained"),
        () => "refused",
      );
    outcomes.add(outcome);
  }
  attacker.kill("SIGKILL");
  await once(attacker, "exit");
  expect([outcomes.has("refused"), outcomes.has("escaped"), readdirSync(outside)]).toEqual([true, false, []]);
});

describe.skipIf(isMissing)("a command that never runs", () => {
  it("names the folder that is not there", async () => {
    const missing = path.join(folder, "missing");
    expect(() => sandbox.wrap(["true"], { policy: WORKSPACE_WRITE, workspace, cwd: missing, env: {} })).toThrow(
      new WorkingFolderMissing(missing),
    );
  });

  it("names the folder that cannot be reached", async () => {
    symlinkSync("round", path.join(folder, "round"));
    for (const cwd of [path.join(folder, "round"), workspace + "/a".repeat(5_000)])
      expect(() => sandbox.wrap(["true"], { policy: WORKSPACE_WRITE, workspace, cwd, env: {} })).toThrow(new WorkingFolderMissing(cwd));
  });

  it("names the program that is not there", async () => {
    const launch = sandbox.wrap(["no-such-program"], { policy: WORKSPACE_WRITE, workspace, cwd: workspace, env: { PATH } });
    await expect(runCommand(launch).result).rejects.toEqual(new ProgramNotStarted("no-such-program", "No such file or directory"));
    expect(readdirSync(workspace)).toEqual([]);
  });

  it("is not run without its sandbox when that vanishes between two commands", async () => {
    const bin = path.join(folder, "bwrap");
    copyFileSync(sandbox.detail, bin);
    chmodSync(bin, 0o755);
    const own = await openSandbox({ env: process.env, writable: new WritablePlaces([]), bin });
    onTestFinished(() => own.close());
    await bash("touch first", {}, own);
    rmSync(bin);
    const failure = new SandboxFailed(`${bin}: No such file or directory`);
    await expect(bash("touch second", {}, own)).rejects.toEqual(failure);
    await expect(bash("touch third", { policy: { type: "danger-full-access" } }, own)).rejects.toEqual(failure);
    expect(readdirSync(workspace)).toEqual(["first"]);
  });

  it("is not run when its sandbox stops working between two commands", async () => {
    const bin = path.join(folder, "bwrap");
    writeFileSync(
      bin,
      `#!/bin/sh\n[ -e ${folder}/broken ] && { echo "bwrap: No permissions to create a new namespace" >&2; exit 1; }\nexec ${sandbox.detail} "$@"\n`,
      { mode: 0o755 },
    );
    const own = await openSandbox({ env: process.env, writable: new WritablePlaces([]), bin });
    onTestFinished(() => own.close());
    await bash("touch first", {}, own);
    writeFileSync(path.join(folder, "broken"), "");
    await expect(bash("touch second", {}, own)).rejects.toEqual(new SandboxFailed("No permissions to create a new namespace"));
    expect(readdirSync(workspace)).toEqual(["first"]);
  });
});

describe.skipIf(isMissing)("where no sandbox works", () => {
  it("only commands with full access run, and the reason is reported", async () => {
    const program = path.join(folder, "report.mjs");
    await bundle("sandboxReport.ts", program);
    const outer = [
      "--ro-bind",
      "/",
      "/",
      "--bind",
      "/tmp",
      "/tmp",
      "--dev",
      "/dev",
      "--proc",
      "/proc",
      "--unshare-user",
      "--disable-userns",
      "--unshare-pid",
      "--cap-drop",
      "ALL",
    ];
    const { stdout } = await promisify(execFile)(sandbox.detail, [...outer, "--", process.execPath, program]);
    const report: unknown = JSON.parse(stdout);
    expect(report).toEqual({
      backend: "none",
      detail: expect.stringContaining("bubblewrap does not work here"),
      fullAccess: "plain",
      readOnly: expect.stringContaining("The command was not run: no sandbox can be enforced on this machine"),
      free: "ran\n",
    });
  });

  it("a named program that is no sandbox is not replaced by another", async () => {
    const bin = path.join(folder, "missing-bwrap");
    const own = await openSandbox({ env: process.env, writable: new WritablePlaces([]), bin });
    onTestFinished(() => own.close());
    expect([own.backend, own.detail, own.fullAccess]).toEqual([
      "none",
      expect.stringContaining(bin),
      expect.not.stringMatching("bubblewrap"),
    ]);
  });
});

it("all sandboxes of a process share one exit listener", async () => {
  const before = process.listenerCount("exit");
  const opened = await Promise.all([1, 2, 3].map(() => openSandbox({ env: process.env, writable: new WritablePlaces([]) })));
  const during = process.listenerCount("exit");
  for (const each of opened) each.close();
  expect([during, process.listenerCount("exit")]).toEqual([before, before]);
});

it.skipIf(isMissing)("full access is full access, in a PID namespace", async () => {
  const target = path.join(folder, "outside");
  const result = await bash(`echo x > ${target}; ls -d /proc/[0-9]* | wc -l`, { policy: { type: "danger-full-access" } });
  expect([sandbox.fullAccess, existsSync(target) && readFileSync(target, "utf8"), Number(result.stdout) < 10]).toEqual([
    "bubblewrap",
    "x\n",
    true,
  ]);
});
