import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { livingWith } from "../../test/sandbox/living.js";
import { ProgramNotStarted } from "./errors.js";
import { launchPlainly } from "./sandbox/fullAccess.js";
import { ExecSessions, InputClosed, MOST_SESSIONS, onTerminal, startYieldMs, UnknownSession, writeYieldMs } from "./session.js";

const waiting = (yieldTimeMs: number) => ({ yieldTimeMs, signal: new AbortController().signal });
const SOON = waiting(250);
const IN_TIME = waiting(10_000);

let sessions: ExecSessions;
let mark: string;
beforeEach(() => {
  sessions = new ExecSessions();
  mark = randomUUID();
});
afterEach(() => sessions.endAll());

function launch(...argv: readonly string[]) {
  return launchPlainly({ argv, cwd: tmpdir(), env: { PATH: process.env["PATH"] ?? "", MARK: mark } });
}

const bash = (script: string) => launch("bash", "-c", script);

async function startRunning(script: string, stdin: "none" | "pipe" = "none"): Promise<number> {
  const { report } = await sessions.start(bash(script), { ...waiting(250), stdin });
  if (report.sessionId === undefined) throw new Error(`it ended: ${report.output}`);
  return report.sessionId;
}

describe("a command that ends in time", () => {
  it("is reported with its exit code, and does not become a session", async () => {
    const { report, finished } = await sessions.start(bash("echo out; echo err >&2; exit 3"), IN_TIME);
    expect({ ...report, wallTimeMs: 0 }).toEqual({
      output: expect.stringMatching(/^(out\nerr|err\nout)\n$/),
      wallTimeMs: 0,
      sessionId: undefined,
      exitCode: 3,
    });
    expect([sessions.size, (await finished).stdout]).toEqual([0, "out\n"]);
  });

  it("that cannot be started is an error, and does not become a session", async () => {
    await expect(sessions.start(launch("no-such-program"), IN_TIME)).rejects.toBeInstanceOf(ProgramNotStarted);
    expect(sessions.size).toBe(0);
  });
});

describe("a command that keeps running", () => {
  it("has a number between 1000 and 99999, under which its output can be read", async () => {
    const { report } = await sessions.start(bash("echo first; read line; echo second $line"), { ...SOON, stdin: "pipe" });
    const id = report.sessionId ?? 0;
    let { output } = report;
    // A busy machine starts the shell later.
    while (output === "") ({ output } = await sessions.write(id, "", SOON));
    expect([output, report.exitCode]).toEqual(["first\n", undefined]);
    expect([id >= 1_000 && id <= 99_999, sessions.size]).toEqual([true, 1]);
    expect(await sessions.write(id, "line\n", IN_TIME)).toMatchObject({ output: "second line\n", sessionId: undefined, exitCode: 0 });
    expect(sessions.size).toBe(0);
  });

  it("is waited for no longer than requested", async () => {
    const id = await startRunning("sleep 1000");
    const report = await sessions.write(id, "", SOON);
    expect(report).toMatchObject({ output: "", sessionId: id, exitCode: undefined });
  });

  it("shows each output once, and a split character when it is complete", async () => {
    const { report } = await sessions.start(bash("printf 'a\\xe2\\x82'; read line; printf '\\xacb'"), { ...SOON, stdin: "pipe" });
    const rest = await sessions.write(report.sessionId ?? 0, "\n", IN_TIME);
    expect([report.output, rest.output]).toEqual(["a", "€b"]);
  });

  it("keeps the beginning and the end of unread output", async () => {
    const { report } = await sessions.start(bash("read line; echo first; yes | head -c 5000000; echo last"), { ...SOON, stdin: "pipe" });
    const { output } = await sessions.write(report.sessionId ?? 0, "\n", IN_TIME);
    expect([output.slice(0, 8), output.slice(-7), Buffer.byteLength(output)]).toEqual(["first\ny\n", "y\nlast\n", 1_048_576]);
  });

  it("takes no input if it was started without input", async () => {
    const id = await startRunning("sleep 1000");
    await expect(sessions.write(id, "x", SOON)).rejects.toEqual(new InputClosed());
  });

  it("can have a terminal of its own", async () => {
    const argv = onTerminal(["bash", "-c", 'tty -s && echo a terminal; read -r line; echo "it\'s $line"; exit 7']);
    const { report } = await sessions.start(launch(...argv), { ...SOON, stdin: "pipe" });
    const rest = await sessions.write(report.sessionId ?? 0, "typed\n", IN_TIME);
    expect([report.output, rest.output, rest.exitCode]).toEqual(["a terminal\r\n", "typed\r\nit's typed\r\n", 7]);
  });
});

describe("the end of sessions", () => {
  it("is complete before it is reported", async () => {
    await startRunning("trap '' TERM; sleep 1000 & wait; sleep 1000");
    await startRunning("sleep 1000");
    await sessions.endAll();
    expect([sessions.size, livingWith(mark)]).toEqual([0, []]);
  });

  it("follows a cancelled call that waits for the start", async () => {
    const cancelling = new AbortController();
    const reason = new Error("cancelled");
    const starting = sessions.start(bash("echo ready; sleep 1000"), {
      ...IN_TIME,
      signal: cancelling.signal,
      onOutput: () => cancelling.abort(reason),
    });
    await expect(starting).rejects.toBe(reason);
    expect([sessions.size, livingWith(mark)]).toEqual([0, []]);
  });

  it("does not follow a cancelled read", async () => {
    const id = await startRunning("sleep 1000");
    await expect(sessions.write(id, "", { ...IN_TIME, signal: AbortSignal.abort() })).rejects.toThrow();
    expect([sessions.size, livingWith(mark).length > 0]).toEqual([1, true]);
  });

  it("comes for the least recently used session when there are too many", async () => {
    const [oldest = 0, second = 0, ...rest] = await Promise.all(
      Array.from({ length: MOST_SESSIONS }, () => startRunning("exec sleep 1000")),
    );
    await sessions.write(oldest, "", SOON);
    await startRunning("exec sleep 1000");
    expect(sessions.size).toBe(MOST_SESSIONS);
    await expect(sessions.write(second, "", SOON)).rejects.toEqual(new UnknownSession(second));
    expect(await sessions.write(rest[0] ?? 0, "", SOON)).toMatchObject({ sessionId: rest[0] });
  });

  it("is not a command that can be approved", async () => {
    await expect(sessions.write(1_234, "", SOON)).rejects.toEqual(new UnknownSession(1_234));
  });
});

it("a start is waited for ten seconds unless the call says otherwise, within limits", () => {
  expect([undefined, 1, 3_000, 10 ** 9].map(startYieldMs)).toEqual([10_000, 250, 3_000, 30_000]);
});

it("output is waited for a quarter of a second, and at least five seconds without input", () => {
  expect([writeYieldMs(undefined, "x"), writeYieldMs(100, "x"), writeYieldMs(undefined, ""), writeYieldMs(10 ** 9, "")]).toEqual([
    250, 250, 5_000, 30_000,
  ]);
});

it("a terminal is created by the system's own program, wherever PATH leads", () => {
  const [program] = onTerminal(["true"]);
  expect(program).toMatch(/^\/(?:usr\/)?bin\/script$/);
});
