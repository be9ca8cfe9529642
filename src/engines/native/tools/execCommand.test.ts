import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, vi } from "vitest";
import { openToolStage, type PlayedTurn, type ToolStage } from "../../../../test/support/memory/toolStage.js";
import { calls, says } from "../../../../test/support/model/modelDouble.js";
import { processesIn } from "../../../../test/support/processes/processesIn.js";
import { turnContext, typesOf } from "../../../../test/support/threads/turns.js";
import { launchPlainly } from "../../../exec/sandbox/fullAccess.js";
import { MOST_SESSIONS } from "../../../exec/session.js";
import type { ThreadEvent } from "../../../threads/events.js";
import { execTools } from "./execCommand.js";
import { LateEvents } from "./lateEvents.js";
import type { ToolContext } from "./tool.js";
import { ToolRuntime } from "./toolRuntime.js";

function open(approvalPolicy: "never" | "untrusted" = "never", { asRecorded = true } = {}): Promise<ToolStage> {
  return openToolStage({ settings: { approvalPolicy, asRecorded, features: { unified_exec: true } } });
}

function sessionOf({ output }: Pick<PlayedTurn, "output">): number {
  const id = /^Process running with session ID (\d+)$/m.exec(output)?.[1];
  if (id === undefined) throw new Error(`No session: ${output}`);
  return Number(id);
}

function said({ output }: PlayedTurn): string {
  return output.slice(output.indexOf("Output:\n") + "Output:\n".length);
}

describe("exec_command", () => {
  it("returns the output and the exit code of a short command", async () => {
    await using stage = await open();
    const turn = await stage.use("exec_command", { cmd: "echo hello; exit 3" });
    expect(turn.output).toMatch(
      /^Chunk ID: [0-9a-f]{6}\nWall time: [\d.]+ seconds\nProcess exited with code 3\nOriginal token count: 2\nOutput:\nhello\n$/,
    );
    expect(turn.events.find(({ type }) => type === "commandEnded")).toMatchObject({ exitCode: 3, stdout: "hello\n" });
  });

  it.for([
    ["as recorded, without what comes in the first moments", true, ["late\n"], "late\n"],
    ["as it comes", false, ["early\n", "late\n"], "early\nlate\n"],
    // A busy machine may be late with the first output.
  ] as const)("shows output %s; the model gets all of it", { retry: 3 }, async ([, asRecorded, shown, atEnd]) => {
    await using stage = await openToolStage({ settings: { asRecorded, approvalPolicy: "never", features: { unified_exec: true } } });
    const turn = await stage.use("exec_command", { cmd: "echo early; sleep 0.5; echo late" });
    expect(said(turn)).toBe("early\nlate\n");
    expect(turn.events.flatMap((event) => (event.type === "commandOutput" ? [event.bytes.toString()] : []))).toEqual(shown);
    expect(turn.events.find(({ type }) => type === "commandEnded")).toMatchObject({ stdout: atEnd, aggregatedOutput: atEnd });
  });

  describe("that the sandbox stops under on-failure", () => {
    const ESCAPE = { cmd: "echo out > ../outside.txt" };
    const isShown = (type: string) => type === "commandStarted" || type === "commandEnded";
    const onFailure = (asRecorded: boolean) =>
      openToolStage({ settings: { asRecorded, approvalPolicy: "on-failure", features: { unified_exec: true } } });

    it("runs outside it if that is approved", async () => {
      await using stage = await onFailure(false);
      const turn = await stage.use("exec_command", ESCAPE, { answers: [{ kind: "approved" }] });
      expect(turn.asked).toMatchObject([{ reason: "command failed; retry without sandbox?", staysInSandbox: false, needsPerson: false }]);
      expect(turn.output).toContain("Process exited with code 0");
      expect(readFileSync(path.join(stage.stage.root, "outside.txt"), "utf8")).toBe("out\n");
      expect(typesOf(turn.events).filter(isShown)).toEqual(["commandStarted", "commandEnded"]);
    });

    it("stays stopped if that is denied", async () => {
      await using stage = await onFailure(false);
      const turn = await stage.use("exec_command", ESCAPE, { answers: [{ kind: "denied", reason: "no" }] });
      expect(turn.output).toBe("exec command rejected by user: no");
      expect(existsSync(path.join(stage.stage.root, "outside.txt"))).toBe(false);
      expect(typesOf(turn.events).filter(isShown)).toEqual(["commandStarted", "commandEnded"]);
    });

    it("is not asked about under another policy", async () => {
      await using stage = await open();
      const turn = await stage.use("exec_command", ESCAPE);
      expect(turn.asked).toEqual([]);
      expect(turn.output).toContain("Process exited with code 1");
    });

    // On a busy machine it may not be stopped at once.
    it("is shown as recorded: not before it was approved", { retry: 3 }, async () => {
      await using stage = await onFailure(true);
      const denied = await stage.use("exec_command", ESCAPE, { answers: [{ kind: "denied" }] });
      expect(denied.output).toBe('exec_command failed: CreateProcess { message: "Rejected(\\"rejected by user\\")" }');
      expect(typesOf(denied.events).filter(isShown)).toEqual([]);
      const approved = await stage.use("exec_command", ESCAPE, { answers: [{ kind: "approved" }] });
      expect(approved.asked).toHaveLength(1);
      expect(typesOf(approved.events).filter(isShown)).toEqual(["commandStarted", "commandEnded"]);
    });

    it("is shown and reported as recorded when it runs for a while first", async () => {
      await using stage = await onFailure(true);
      const turn = await stage.use("exec_command", { cmd: `sleep 1; ${ESCAPE.cmd}`, yield_time_ms: 30_000 });
      expect(turn.asked).toEqual([]);
      expect(typesOf(turn.events).filter(isShown)).toEqual(["commandStarted", "commandEnded"]);
    });
  });

  it("leaves a long command running, which write_stdin can talk to until it ends", async () => {
    await using stage = await open("never", { asRecorded: false });
    const args = { cmd: 'read line; echo "got $line"', tty: true, yield_time_ms: 250 };
    const started = await stage.use("exec_command", args);
    const session = sessionOf(started);
    expect(typesOf(started.events)).not.toContain("commandEnded");
    const answered = await stage.use("write_stdin", { session_id: session, chars: "word\n", yield_time_ms: 30_000 });
    expect(answered.output).toContain("Process exited with code 0");
    expect(said(answered)).toContain("got word");
    expect(answered.events).toContainEqual({ type: "commandResumed", callId: "call_1" });
    expect(answered.events.find(({ type }) => type === "commandEnded")).toMatchObject({ callId: "call_1", exitCode: 0 });
    expect((await stage.use("write_stdin", { session_id: session })).output).toBe(`write_stdin failed: Unknown process id ${session}`);
  });

  it("as recorded, shows what a command does after its call, and what was typed", async () => {
    await using stage = await open();
    const start = { cmd: 'read line; echo "got $line"; sleep 600', tty: true, yield_time_ms: 800 };
    const onEvent = (event: ThreadEvent) => {
      if (event.type !== "commandStarted" || event.sessionId === undefined) return;
      stage.model.forget();
      const input = { session_id: event.sessionId, chars: "word\n", yield_time_ms: 1_000 };
      stage.model.plan(calls(stage.call("write_stdin", input)), says("done"));
    };
    const turn = await stage.use("exec_command", start, { onEvent });
    const shown = typesOf(turn.events).filter((type) => /^command(Started|Output|Typed|Ended)$/.test(type));
    expect([...new Set(shown)]).toEqual(["commandStarted", "commandOutput", "commandTyped"]);
    expect(turn.events).toContainEqual({ type: "commandTyped", callId: "call_1", sessionId: expect.any(Number), typed: "word\n" });
  });

  it("as recorded, ends a command with its turn, and shows its end in the next turn", async () => {
    await using stage = await open();
    const { output } = await stage.use("exec_command", { cmd: "echo up; sleep 600", yield_time_ms: 250 });
    const session = sessionOf({ output });
    await vi.waitFor(() => expect([stage.threadTools.keepsRunning, processesIn(stage.stage.workspace)]).toEqual([false, []]));
    const next = await stage.use("exec_command", { cmd: "sleep 0.5", yield_time_ms: 5_000 });
    expect(next.events).toContainEqual(
      expect.objectContaining({ type: "commandEnded", callId: "call_1", exitCode: -1, ofTurn: expect.anything() }),
    );
    expect((await stage.use("write_stdin", { session_id: session })).output).toBe(`write_stdin failed: Unknown process id ${session}`);
  });

  it("shows the end of a command that nobody waited for at the end of the turn, once", async () => {
    await using stage = await open("never", { asRecorded: false });
    const cmd = "echo up; until [ -e go ]; do sleep 0.05; done; exit 3";
    const turn = await stage.use("exec_command", { cmd, yield_time_ms: 250 });
    expect(typesOf(turn.events)).not.toContain("commandEnded");
    writeFileSync(stage.path("go"), "");
    const ends: ThreadEvent[] = [];
    const playNext = async () => {
      const { events } = await stage.use("update_plan", { plan: [] });
      ends.push(...events.filter(({ type }) => type === "commandEnded"));
    };
    await vi.waitFor(
      async () => {
        await playNext();
        expect(ends).not.toEqual([]);
      },
      { timeout: 20_000 },
    );
    await playNext();
    expect(ends).toMatchObject([{ callId: "call_1", exitCode: 3, aggregatedOutput: "up\n" }]);
    const seen = await stage.use("write_stdin", { session_id: sessionOf(turn), yield_time_ms: 250 });
    expect(seen.output).toContain("Process exited with code 3");
    expect(typesOf(seen.events).filter((type) => type.startsWith("command"))).toEqual([]);
  });

  it("shows the end of a command that had to make room for others", async () => {
    await using stage = await open("never", { asRecorded: false });
    const { settings } = stage.conversation.parts;
    const runtime = new ToolRuntime(settings, stage.host, {
      workspace: stage.stage.workspace,
      running: undefined,
      lateEvents: new LateEvents(),
    });
    try {
      const [exec] = execTools(runtime);
      const { signal } = new AbortController();
      const ctx: ToolContext = {
        callId: "call_1",
        signal,
        ask: turnContext(signal).ask,
        remember: (item) => ({ type: "rawItem", item }),
        isFreeform: false,
        asRecorded: false,
      };
      for await (const _ of exec?.run(JSON.stringify({ cmd: "sleep 1000", yield_time_ms: 250 }), ctx) ?? []);
      expect(runtime.takeEnds()).toEqual([]);
      const launch = () => launchPlainly({ argv: ["sleep", "1000"], cwd: stage.stage.workspace, env: {} });
      for (let at = 0; at < MOST_SESSIONS; at++) await runtime.sessions.start(launch(), { yieldTimeMs: 1, signal });
      expect([runtime.takeEnds(), runtime.takeEnds()]).toMatchObject([[{ type: "commandEnded", callId: "call_1", exitCode: -1 }], []]);
    } finally {
      await runtime.close();
    }
  });

  it("gives a terminal only when asked", async () => {
    await using stage = await open();
    const cmd = "test -t 0 && echo terminal || echo none";
    expect(said(await stage.use("exec_command", { cmd, tty: true }))).toContain("terminal");
    expect(said(await stage.use("exec_command", { cmd }))).toContain("none");
  });

  it("refuses input for a command that takes none", async () => {
    await using stage = await open("never", { asRecorded: false });
    const session = sessionOf(await stage.use("exec_command", { cmd: "sleep 600", yield_time_ms: 250 }));
    const { output } = await stage.use("write_stdin", { session_id: session, chars: "x" });
    expect(output).toBe("write_stdin failed: stdin is closed for this session; rerun exec_command with tty=true to keep stdin open");
  });

  it("keeps a session over the end of its turn, and ends it with the thread", async () => {
    const stage = await open("never", { asRecorded: false });
    try {
      const session = sessionOf(await stage.use("exec_command", { cmd: "trap '' TERM; echo up; sleep 600", yield_time_ms: 250 }));
      await stage.use("update_plan", { plan: [] });
      expect((await stage.use("write_stdin", { session_id: session, yield_time_ms: 250 })).output).toContain(`session ID ${session}`);
      expect([stage.threadTools.keepsRunning, processesIn(stage.stage.workspace).length > 0]).toEqual([true, true]);
      await stage.threadTools.close();
      expect([stage.threadTools.keepsRunning, processesIn(stage.stage.workspace)]).toEqual([false, []]);
    } finally {
      await stage[Symbol.asyncDispose]();
    }
  });

  it("ends the command when its turn is interrupted while it is waited for", async () => {
    await using stage = await open();
    const abort = new AbortController();
    const onEvent = ({ type }: { type: string }) => type === "commandOutput" && abort.abort(new Error("stopped"));
    const turn = await stage.use(
      "exec_command",
      { cmd: "sleep 0.5; echo up; sleep 600", yield_time_ms: 20_000 },
      { signal: abort.signal, onEvent },
    );
    expect(turn.events.at(-1)).toEqual({ type: "turnAborted", reason: "interrupted" });
    expect(processesIn(stage.stage.workspace)).toEqual([]);
    expect(said(await stage.use("exec_command", { cmd: "echo fine" }))).toBe("fine\n");
  });

  it("asks for approval as the shell tool does", async () => {
    await using stage = await open("untrusted");
    const turn = await stage.use("exec_command", { cmd: "touch x" }, { answers: [{ kind: "denied", reason: "no" }] });
    expect(turn.output).toBe(String.raw`exec_command failed: CreateProcess { message: "Rejected(\"rejected by user: no\")" }`);
    expect(typesOf(turn.events).filter((type) => type.startsWith("command"))).toEqual([]);
    expect(turn.asked).toMatchObject([{ kind: "command", command: ["/bin/bash", "-lc", "touch x"] }]);
  });

  it("cannot ask to leave the sandbox under `never`", async () => {
    await using stage = await open();
    const { output } = await stage.use("exec_command", { cmd: "ls", sandbox_permissions: "require_escalated" });
    expect(output).toMatch(/you cannot ask for escalated permissions if the approval policy is Never$/);
  });

  it.for([
    ["sh", /\/sh$/],
    ["/opt/none/bash", /^\/bin\/bash$/],
    ["/bin/nosuch", /^\/bin\/sh$/],
    ["python3", /^\/bin\/sh$/],
  ] as const)("runs in the plain shell where the shell %s is not one, or not there", async ([shell, shown]) => {
    await using stage = await open();
    const turn = await stage.use("exec_command", { cmd: "echo made", shell });
    expect(turn.output).toContain("made");
    const begin = turn.events.find(({ type }) => type === "commandStarted");
    expect(begin).toMatchObject({ command: [expect.stringMatching(shown), "-lc", "echo made"] });
  });

  it("applies a patch in this process", async () => {
    await using stage = await open();
    const cmd = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch\nEOF";
    const turn = await stage.use("exec_command", { cmd });
    expect(typesOf(turn.events)).toContain("patchEnded");
    expect(turn.output).toContain("A a.txt");
  });

  it.for([
    ["exec_command", {}],
    ["exec_command", { cmd: 5 }],
    ["exec_command", { cmd: "ls", yield_time_ms: -1 }],
    ["exec_command", { cmd: "ls", max_output_tokens: -1 }],
    ["write_stdin", {}],
    ["write_stdin", { session_id: "1" }],
    ["write_stdin", { session_id: 99_999_999_999 }],
  ] as const)("%s with %j is refused", async ([tool, args]) => {
    await using stage = await open();
    expect((await stage.use(tool, args)).output).toMatch(/^failed to parse function arguments: /);
  });
});
