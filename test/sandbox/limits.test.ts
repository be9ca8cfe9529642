import { mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { CommandLimits } from "../../src/exec/commandLimits.js";
import { WritablePlaces } from "../../src/exec/outside/outsidePrograms.js";
import type { SandboxPolicy } from "../../src/exec/policies.js";
import { type CommandResult, runCommand } from "../../src/exec/run.js";
import { openSandbox } from "../../src/exec/sandbox/backend.js";
import { MAIN, startServer } from "../support/processes/mcpServer.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { isMissing, sandbox } from "./available.js";

const WORKSPACE_WRITE: SandboxPolicy = {
  type: "workspace-write",
  network_access: false,
  exclude_slash_tmp: true,
  exclude_tmpdir_env_var: true,
};
const FULL_ACCESS: SandboxPolicy = { type: "danger-full-access" };
const MIB = 1024 * 1024;
/** Starts processes without end, but one at a time and only sleeping ones, because other tests run beside this one. */
const FORK_BOMB = "while :; do sleep 30 & done";

let workspace: string;
beforeEach(() => {
  workspace = realpathSync(mkdtempSync(path.join(tmpdir(), "limits-")));
});
afterEach(() => rmSync(workspace, { recursive: true, force: true }));

interface Situation extends CommandLimits {
  readonly policy?: SandboxPolicy;
  readonly contained?: boolean;
  readonly bin?: string;
}

async function bash(
  script: string,
  { policy = WORKSPACE_WRITE, contained = true, bin, ...limits }: Situation = {},
): Promise<CommandResult> {
  const around = await openSandbox({
    env: process.env,
    writable: new WritablePlaces([]),
    limits,
    containFullAccess: contained,
    ...(bin && { bin }),
  });
  const env = { PATH: process.env["PATH"] ?? "" };
  try {
    return await runCommand(around.wrap(["bash", "-c", script], { policy, workspace, cwd: workspace, env }), { timeoutMs: 20_000 }).result;
  } finally {
    around.close();
  }
}

describe.skipIf(isMissing)("the processes of a command", () => {
  it.for([
    ["in the sandbox", { policy: WORKSPACE_WRITE }],
    ["with full access", { policy: FULL_ACCESS }],
  ] as const)("are ended together with it if there are too many, %s", async ([, situation]) => {
    const { ended, exitCode, stderr } = await bash(FORK_BOMB, { ...situation, processes: 100 });
    expect([ended, exitCode]).toEqual(["exited", 137]);
    expect(stderr).toContain("The command was ended: it had more than 100 processes (mcp_server.commands.max_processes).");
  });

  it("are ended without a namespace too, if they descend from the command", async () => {
    const { exitCode } = await bash("for i in {1..150}; do sleep 20 & done; wait", {
      policy: FULL_ACCESS,
      contained: false,
      processes: 100,
    });
    expect(exitCode).toBe(137);
  });

  it("count with their threads", async () => {
    const threads = `const { Worker } = require("worker_threads"); for (let i = 0; i < 30; i++) new Worker("setTimeout(() => {}, 15000)", { eval: true });`;
    const { stderr } = await bash(`'${process.execPath}' -e '${threads}'`, { processes: 30, threads: 30 });
    expect(stderr).toContain("it had more than 30 threads (mcp_server.commands.max_threads)");
  });

  it("may be as many as a build needs", async () => {
    const result = await bash("for i in {1..80}; do sleep 0.4 & done; wait; echo built", { processes: 100 });
    expect(result).toMatchObject({ exitCode: 0, stdout: "built\n", stderr: "" });
  });

  it.each(["0.00 0.00 0.00 0/0 0", ""])("are ended even if the system does not report how many there are: '%s'", async (loads) => {
    const file = path.join(workspace, "loadavg");
    writeFileSync(file, loads);
    // Below a part of /proc that is replaced, the kernel lets no sandbox have a /proc of its own.
    const config = "[mcp_server]\ncontain_full_access = false\n[mcp_server.commands]\nmax_processes = 100\n";
    const around = ["--dev-bind", "/", "/", "--ro-bind", file, "/proc/loadavg", "--", process.execPath, MAIN];
    await using server = await startServer({ command: [sandbox.detail, ...around], config });
    await server.initialize();
    const prompt = "!shell for i in {1..150}; do sleep 20 & done; wait\n!say done";
    const call = server.call("codex", { prompt, sandbox: "danger-full-access", "approval-policy": "never" });
    expect(await call.event("exec_command_end")).toMatchObject({
      exit_code: 137,
      stderr: expect.stringContaining("more than 100 processes"),
    });
    expect(valueAt(await call.result(), "structuredContent.content")).toBe("done");
  });

  it("do not keep the server from answering", async () => {
    await using server = await startServer({ config: "[mcp_server.commands]\nmax_processes = 100\n" });
    await server.initialize();
    const call = server.call("codex", { prompt: `!shell ${FORK_BOMB}\n!say done`, sandbox: "workspace-write", "approval-policy": "never" });
    await call.event("exec_command_begin");
    expect(await server.request("ping")).toEqual({});
    expect(valueAt(await call.result(), "structuredContent.content")).toBe("done");
    expect(await call.event("exec_command_end")).toMatchObject({
      exit_code: 137,
      stderr: expect.stringContaining("more than 100 processes"),
    });
    expect(server.started()).toEqual([]);
  });
});

describe.skipIf(isMissing)("memory that a command uses for files", () => {
  it("is bounded in /dev/shm, and not available elsewhere in /dev", async () => {
    const script =
      "head -c 3000000 /dev/zero > /dev/shm/file; stat -c %s /dev/shm/file; touch /dev/file || echo read-only; stat -c %a /dev/shm";
    const { stdout, stderr } = await bash(script, { sharedMemoryBytes: 2 * MIB });
    expect([stdout, stderr.includes("No space left on device")]).toEqual([`${2 * MIB}\nread-only\n1777\n`, true]);
  });

  it("can be used, like devices and terminals", async () => {
    const script =
      "echo x > /dev/shm/a && cat /dev/shm/a && echo y > /dev/null && head -c 1 /dev/zero | wc -c && script -qec 'test -t 1 && echo tty' /dev/null";
    expect((await bash(script, { sharedMemoryBytes: MIB })).stdout).toBe("x\n1\ntty\r\n");
  });
});

describe.skipIf(isMissing)("a bubblewrap that cannot set sizes", () => {
  it("still confines commands, with /dev/shm of the system's size", async () => {
    const bin = path.join(workspace, "bwrap");
    const options = path.join(workspace, "options");
    const script = [
      "#!/bin/bash",
      `cat <&3 > ${options}.$$`,
      `if grep -qzx -e --size ${options}.$$; then echo "bwrap: Unknown option --size" >&2; exit 1; fi`,
      `exec ${sandbox.detail} "$@" 3< ${options}.$$`,
    ];
    writeFileSync(bin, `${script.join("\n")}\n`, { mode: 0o755 });
    const { stdout } = await bash("touch /usr/no 2> /dev/null || echo confined; touch /dev/shm/yes && echo shared", {
      bin,
      sharedMemoryBytes: MIB,
    });
    expect(stdout).toBe("confined\nshared\n");
  });
});

describe.skipIf(isMissing)("limits by setting", () => {
  it("end the writing of a file that becomes too large", async () => {
    mkdirSync(path.join(workspace, "a"));
    const { exitCode } = await bash("head -c 3000000 /dev/zero > a/file", { fileBytes: MIB });
    expect([exitCode !== 0, statSync(path.join(workspace, "a/file")).size]).toEqual([true, MIB]);
  });

  it("limit the address space", async () => {
    const { stdout } = await bash("ulimit -v; ulimit -f", { addressSpaceBytes: 512 * MIB });
    expect(stdout).toBe(`${512 * 1024}\nunlimited\n`);
  });

  it("add no program around a command without limits", async () => {
    expect((await bash("cat /proc/$PPID/comm", { processes: 300 })).stdout).toBe("bwrap\n");
  });
});
