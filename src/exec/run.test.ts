import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { PlaceMoved, ProgramNotStarted } from "./errors.js";
import type { Launch } from "./launch.js";
import { type CommandResult, type OutputName, type RunOptions, runCommand } from "./run.js";
import { launchPlainly } from "./sandbox/fullAccess.js";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "run-"));
  return () => rmSync(folder, { recursive: true, force: true });
});

const PATH = process.env["PATH"] ?? "";

function launch(...argv: string[]) {
  return launchPlainly({ argv, cwd: folder, env: { PATH } });
}

function bash(script: string, options?: RunOptions): Promise<CommandResult> {
  return runCommand(launch("bash", "-c", script), options).result;
}

const MIB = 1024 * 1024;
/** A busy machine may take long to start a shell. */
const BEGUN_BY_THEN_MS = 2_000;

describe("a command's result", () => {
  it("holds both streams, the exit code, and stdout before stderr", async () => {
    const { durationMs, ...result } = await bash("echo to-err >&2; echo to-out; exit 3");
    expect(result).toEqual({
      ended: "exited",
      exitCode: 3,
      stdout: "to-out\n",
      stderr: "to-err\n",
      aggregatedOutput: "to-out\nto-err\n",
      omittedBytes: 0,
    });
    expect(durationMs).toBeGreaterThan(0);
  });

  it("counts a signal as shells do", async () => {
    expect((await bash("kill -9 $$")).exitCode).toBe(137);
  });

  it("has exit code 124 and the output so far at the time limit", async () => {
    const result = await bash("echo before; sleep 1000", { timeoutMs: BEGUN_BY_THEN_MS });
    expect(result).toMatchObject({ ended: "timedOut", exitCode: 124, stdout: "before\n" });
  });

  it("contains what a command prints when it gets SIGTERM", async () => {
    const result = await bash("trap 'echo tidied; exit 9' TERM; sleep 1000 & wait", { timeoutMs: BEGUN_BY_THEN_MS });
    expect(result).toMatchObject({ ended: "timedOut", stdout: "tidied\n" });
  });

  it("is there at the command's end, although a background child keeps the output open", async () => {
    const result = await bash("sleep 1000 & echo done");
    expect(result).toMatchObject({ ended: "exited", exitCode: 0, stdout: "done\n" });
  });
});

describe("a command's input", () => {
  it("is empty", async () => {
    expect(await bash("cat; echo read")).toMatchObject({ exitCode: 0, stdout: "read\n" });
  });

  it("is what is written to it, if requested", async () => {
    const command = runCommand(launch("head", "-n", "1"), { stdin: "pipe" });
    expect(await command.write("hello\n")).toBe(true);
    expect(await command.result).toMatchObject({ exitCode: 0, stdout: "hello\n" });
    expect(await command.write("too late\n")).toBe(false);
  });

  it("does not grow without limit when the command does not read it", async () => {
    const command = runCommand(launch("sleep", "1000"), { stdin: "pipe" });
    const taken: boolean[] = [];
    while (taken.at(-1) !== false && taken.length < 10) taken.push(await command.write("x".repeat(MIB)));
    command.stop();
    await command.result;
    expect(taken.at(-1)).toBe(false);
  });
});

describe("a command's output", () => {
  it("can be opened by name, as scripts do", async () => {
    const result = await bash("echo one > /dev/stdout; echo two | tee /dev/stderr; echo three >> /proc/self/fd/2");
    expect(result).toMatchObject({ stdout: "one\ntwo\n", stderr: "two\nthree\n" });
  });

  it("is not mixed up between commands that use the same pipes", async () => {
    const outputs = [];
    for (let at = 0; at < 12; at++) outputs.push((await bash(`echo ${at}`)).stdout);
    expect(outputs).toEqual(Array.from({ length: 12 }, (_, at) => `${at}\n`));
  });

  it("keeps characters whole that arrive in two pieces", async () => {
    expect((await bash("printf '\\xe2\\x82'; sleep 0.05; printf '\\xac\\n'")).stdout).toBe("€\n");
  });

  it("is read in its likely encoding when it is not UTF-8", async () => {
    expect((await bash("printf 'a\\xff\\xfe\\x00b'")).stdout).toBe("aÿþ\u0000b");
  });

  it("of a gigabyte keeps its beginning and its end, in bounded memory", async () => {
    const before = process.memoryUsage().rss;
    let highest = before;
    const result = await bash("echo first; yes | head -c 1073741824; echo last", {
      onBytes: () => {
        highest = Math.max(highest, process.memoryUsage().rss);
      },
    });
    expect(result).toMatchObject({ ended: "exited", exitCode: 0 });
    expect(result.stdout.startsWith("first\ny\n")).toBe(true);
    expect(result.stdout.endsWith("y\nlast\n")).toBe(true);
    expect(Buffer.byteLength(result.stdout) + result.omittedBytes).toBe(1_073_741_824 + "first\nlast\n".length);
    expect(Buffer.byteLength(result.stdout)).toBeLessThanOrEqual(MIB);
    expect(highest - before).toBeLessThan(150 * MIB);
  });

  it("is shown as it arrives, in at most 10,000 pieces of at most 8 KiB", async () => {
    const sizes: number[] = [];
    const names = new Set<OutputName>();
    await bash("yes | head -c 100000000; echo x >&2", {
      onOutput: (name, bytes) => {
        sizes.push(bytes.length);
        names.add(name);
      },
    });
    expect(sizes.length).toBe(10_000);
    expect(Math.max(...sizes)).toBe(8_192);
    expect(names.has("stdout")).toBe(true);
  });
});

describe("a command that cannot be started", () => {
  it("is named when the program does not exist", async () => {
    await expect(runCommand(launch("no-such-program")).result).rejects.toEqual(
      new ProgramNotStarted("no-such-program", "No such file or directory"),
    );
  });

  it("is refused when an argument is too long for the system", async () => {
    await expect(runCommand(launch("echo", "x".repeat(4 * MIB))).result).rejects.toEqual(
      new ProgramNotStarted("echo", "Argument list too long"),
    );
  });

  it("is refused when an argument cannot be passed on", async () => {
    await expect(runCommand(launch("echo", "a\0b")).result).rejects.toBeInstanceOf(ProgramNotStarted);
  });
});

describe("a sandbox that could not be set up because a folder was moved", () => {
  /** A program in place of a sandbox: reports that its command ran, or complains. */
  function sandboxed(script: string, again?: () => Launch): Launch {
    return {
      ...launch("bash", "-c", script),
      descriptors: [{ kind: "status" }],
      sandbox: {
        readStatus: (text) => ({ firstProcess: undefined, ran: text.includes("ran") }),
        complaint: "sandbox: ",
        explain: (complaint) => (complaint.startsWith("sandbox: moved") ? new PlaceMoved() : new ProgramNotStarted("sandbox", complaint)),
      },
      ...(again && { again }),
    };
  }
  const MOVED = "echo sandbox: moved >&2; exit 1";
  const shownBy = async (first: Launch) => {
    const shown: string[] = [];
    const ended = await runCommand(first, { onOutput: (stream, bytes) => shown.push(`${stream} ${bytes.toString()}`) }).result.then(
      ({ aggregatedOutput }) => aggregatedOutput,
      (error: unknown) => error,
    );
    return { ended, shown };
  };

  it("is prepared again, and its complaint is not the command's output", async () => {
    const again = () => sandboxed("echo ran >&3; echo fine");
    expect(await shownBy(sandboxed(MOVED, again))).toEqual({ ended: "fine\n", shown: ["stdout fine\n"] });
  });

  it("is not heard either if its complaint comes in pieces", async () => {
    const shown: string[] = [];
    const again = () => sandboxed("echo ran >&3; echo fine");
    const running = runCommand(sandboxed("printf 'sandbox: ' >&2; echo next; read -r; echo moved >&2; exit 1", again), {
      stdin: "pipe",
      onOutput: (stream, bytes) => {
        shown.push(`${stream} ${bytes.toString()}`);
        if (shown.length === 1) void running.write("\n");
      },
    });
    expect((await running.result).aggregatedOutput).toBe("fine\n");
    expect(shown).toEqual(["stdout next\n", "stdout fine\n"]);
  });

  it("fails if it moves again and again", async () => {
    let tries = 0;
    const next = (): Launch => {
      tries++;
      return sandboxed(MOVED, next);
    };
    expect((await shownBy(next())).ended).toBeInstanceOf(PlaceMoved);
    expect(tries).toBe(10);
  });

  it("what was written to it is written again, and what it said is said", async () => {
    const again = () => sandboxed("read -r line; echo ran >&3; echo got $line");
    const first = { ...sandboxed("read -r line; echo sandbox: moved >&2; exit 1", again), release: () => ["a file was set aside"] };
    const running = runCommand(first, { stdin: "pipe" });
    expect(await running.write("hello\n")).toBe(true);
    expect((await running.result).aggregatedOutput).toBe("got hello\na file was set aside\n");
  });

  it("is not tried again without a part of what was written to it", async () => {
    const again = () => sandboxed("echo ran >&3; echo fine");
    const first = sandboxed("head -c 70000 >/dev/null; echo sandbox: moved >&2; exit 1", again);
    const running = runCommand(first, { stdin: "pipe" });
    expect(await running.write("x".repeat(70_000))).toBe(true);
    await expect(running.result).rejects.toThrow(PlaceMoved);
  });

  it.each([
    ["in one line", "echo sandbox: moved >&2", "sandbox: moved\n"],
    ["in one of several lines", "echo sandbox: moved >&2; echo on >&2", "sandbox: moved\non\n"],
    ["without a line end", "printf 'sandbox: ' >&2", "sandbox: "],
  ])("a command may say the same words %s", async (_, words, said) => {
    const again = () => sandboxed("echo ran >&3; echo again");
    const { ended, shown } = await shownBy(sandboxed(`echo ran >&3; ${words}`, again));
    expect({ ended, shown: shown.join("").replaceAll("stderr ", "") }).toEqual({ ended: said, shown: said });
  });

  it("a command may say the same words, with other output", async () => {
    const again = () => sandboxed("echo ran >&3; echo again");
    expect(await shownBy(sandboxed("echo ran >&3; echo sandbox: moved >&2; echo fine", again))).toEqual({
      ended: "fine\nsandbox: moved\n",
      shown: expect.arrayContaining(["stdout fine\n", "stderr sandbox: moved\n"]),
    });
  });
});
