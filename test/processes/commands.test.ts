import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.js";
import { type McpServer, startServer, type ToolCall } from "../support/processes/mcpServer.js";
import { processesIn } from "../support/processes/processesIn.js";
import { valueAt } from "../support/scenarios/scenario.js";

/** Forks, leaves its session, clears its environment, and ignores signals. */
const HOSTILE = [
  `trap '' TERM INT HUP`,
  `(setsid bash -c 'trap "" TERM INT HUP; while :; do sleep 1; done' >/dev/null 2>&1 &)`,
  `(env -i setsid bash -c 'trap "" TERM INT HUP; while :; do /bin/sleep 1; done' >/dev/null 2>&1 </dev/null &)`,
  "for i in 1 2 3; do (sleep 1000 &); done",
  "echo up",
  "while :; do sleep 1; done",
].join("; ");

const SANDBOXES = ["workspace-write", "danger-full-access"] as const;

/** A call whose command is running. */
async function hostileCall(server: McpServer, sandbox: string): Promise<ToolCall> {
  await server.initialize();
  const call = server.call("codex", { prompt: `!shell ${HOSTILE}`, sandbox, "approval-policy": "never" });
  await call.event("exec_command_output_delta");
  expect(server.started().length).toBeGreaterThan(3);
  return call;
}

/** Waits until no process of the server's commands is left. The server also runs in the workspace, but is not counted. */
async function allGone(server: McpServer): Promise<boolean> {
  const alive = () => [
    ...server.started().map(({ commandLine }) => commandLine),
    ...processesIn(server.stage.workspace).filter((pid) => pid !== server.process.pid),
  ];
  return eventually("the end of all processes", () => alive().length === 0 || undefined);
}

describe("a command that forks, daemonises and ignores signals", () => {
  it.for(SANDBOXES)("is gone once its call is cancelled, and the thread can be used (%s)", async (sandbox) => {
    await using server = await startServer();
    const call = await hostileCall(server, sandbox);
    server.cancel(call.id);
    expect(await allGone(server)).toBe(true);
    expect((await call.event("turn_aborted"))["reason"]).toBe("interrupted");
    expect(server.answersTo(call.id)).toEqual([]);
    const reply = server.call("codex-reply", { threadId: await call.threadId(), prompt: "!shell echo fine\n!say done" });
    expect(valueAt(await reply.result(), "structuredContent.content")).toBe("done");
    expect(await reply.event("exec_command_end")).toMatchObject({ exit_code: 0, stdout: "fine\n" });
  });

  it.for(SANDBOXES)("is gone when the client has closed stdin (%s)", async (sandbox) => {
    await using server = await startServer({ args: ["--engine", "scripted", "--eof-grace", "0.1"] });
    await hostileCall(server, sandbox);
    expect(await server.closeAndWait()).toEqual({ code: 0, signal: null });
    expect(await allGone(server)).toBe(true);
  });

  it.for(SANDBOXES)("is gone when the server gets SIGTERM (%s)", async (sandbox) => {
    await using server = await startServer();
    await hostileCall(server, sandbox);
    process.kill(server.process.pid, "SIGTERM");
    await server.exit();
    expect(await allGone(server)).toBe(true);
  });

  it.for(SANDBOXES)("is gone when the server is killed (%s)", async (sandbox) => {
    await using server = await startServer();
    await hostileCall(server, sandbox);
    process.kill(server.process.pid, "SIGKILL");
    expect(await server.exit()).toEqual({ code: null, signal: "SIGKILL" });
    expect(await allGone(server)).toBe(true);
  });

  it.for(["SIGTERM", "SIGKILL"] as const)("is gone after %s, even if it was still running after its turn", async (signal) => {
    await using server = await startServer({ config: "[features]\nunified_exec = true\n" });
    const args = JSON.stringify({ cmd: HOSTILE, yield_time_ms: 250 });
    const call = server.call("codex", {
      prompt: `!call exec_command ${args}\n!say done`,
      sandbox: "workspace-write",
      "approval-policy": "never",
    });
    await call.result();
    // On a busy machine the answer may come before the sandbox has started the command.
    await eventually("the command", () => (server.started().length > 0 ? true : undefined));
    process.kill(server.process.pid, signal);
    await server.exit();
    expect(await allGone(server)).toBe(true);
  });
});

describe("the output of a command", () => {
  it("of half a gigabyte neither fills the memory nor breaks the call", async () => {
    await using server = await startServer();
    const flood = { command: "head -c 536870912 /dev/zero | tr '\\0' x; echo; echo end", timeout_ms: 50_000 };
    const prompt = `!call shell_command ${JSON.stringify(flood)}\n!say done`;
    const call = server.call("codex", { prompt, sandbox: "workspace-write", "approval-policy": "never" });
    const end = await call.event("exec_command_end");
    expect(end["exit_code"]).toBe(0);
    expect(String(end["stdout"]).endsWith("x\nend\n")).toBe(true);
    expect(String(end["stdout"]).length).toBeLessThan(2 * 1024 * 1024);
    expect(valueAt(await call.result(), "structuredContent.content")).toBe("done");
    expect(call.events.filter(({ type }) => type === "exec_command_output_delta").length).toBeLessThanOrEqual(10_000);
    expect(peakMegabytes(server)).toBeLessThan(400);
  });

  it("of 60 kB is cut in the middle for the model, and whole for the client", async () => {
    await using server = await startServer();
    const call = server.call("codex", { prompt: "!shell seq -w 1 12000\n!say done", sandbox: "read-only", "approval-policy": "never" });
    await call.result();
    const end = await call.event("exec_command_end");
    const outputs = call.events.map((event) => valueAt(event, "item")).filter((item) => valueAt(item, "type") === "function_call_output");
    const told = String(valueAt(outputs[0], "output"));
    expect(String(end["stdout"]).length).toBe(72_000);
    expect(told).toMatch(
      /^Exit code: 0\nWall time: [\d.]+ seconds\nTotal output lines: 12000\nOutput:\n00001\n.*…8000 tokens truncated….*\n12000\n$/s,
    );
    expect(told.length).toBeLessThan(40_200);
  });
});

it("a result describes the changes", async () => {
  await using server = await startServer();
  const prompt = "!shell echo one; exit 1\n!patch new.txt hello\\nworld\n!say done";
  const call = server.call("codex", { prompt, sandbox: "workspace-write", "approval-policy": "never" });
  const { workspace } = server.stage;
  expect(valueAt(await call.result(), "structuredContent")).toEqual({
    threadId: await call.threadId(),
    content: "done",
    status: "completed",
    files: [{ path: "new.txt", kind: "add", added: 2, removed: 0 }],
    filesFrom: expect.any(String),
    commands: { run: 1, failed: 1, failures: [{ command: "echo one; exit 1", exitCode: 1 }] },
    approvals: { asked: 0, allowed: 0, denied: 0 },
    usage: { turn: expect.objectContaining({ total: expect.any(Number) }), thread: expect.objectContaining({ total: expect.any(Number) }) },
    cwd: workspace,
    model: expect.any(String),
    sandbox: { policy: "workspace-write", enforcedBy: "bubblewrap" },
    ms: expect.any(Number),
  });
  expect(existsSync(`${workspace}/new.txt`)).toBe(true);
});

function peakMegabytes(server: McpServer): number {
  const status = readFileSync(`/proc/${server.process.pid}/status`, "utf8");
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}
