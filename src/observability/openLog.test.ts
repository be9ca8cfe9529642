import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { eventually } from "../../test/support/eventually.js";
import { openLog, stderrText } from "./openLog.js";

/** A log in a CODEX_HOME of its own, and the output on stderr. */
class LogBook implements AsyncDisposable {
  readonly codexHome = mkdtempSync(path.join(tmpdir(), "log-"));
  readonly folder = path.join(this.codexHome, "log");
  readonly file = path.join(this.folder, "codex-mcp-server.log");
  readonly stderr: string[] = [];
  readonly #open;

  constructor({ env = {}, listening = false }: { readonly env?: NodeJS.ProcessEnv; readonly listening?: boolean } = {}) {
    this.#open = openLog({ env, codexHome: this.codexHome, listening, stderr: (text) => this.stderr.push(text) });
  }

  get log() {
    return this.#open.log;
  }

  get redactor() {
    return this.#open.redactor;
  }

  get lost(): number {
    return this.#open.linesLost();
  }

  close(): Promise<void> {
    return this.#open.close();
  }

  /** The lines without values that differ between runs. */
  lines(file = this.file): unknown[] {
    return readFileSync(file, "utf8").split("\n").slice(0, -1).map(stable);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
    rmSync(this.codexHome, { recursive: true });
  }
}

function stable(line: string): unknown {
  const { time, pid, ...rest }: Record<string, unknown> = JSON.parse(line);
  expect([Number.isNaN(Date.parse(String(time))), pid]).toEqual([false, process.pid]);
  return rest;
}

describe("lines", () => {
  it("go to the file as JSON with their fields, and to stderr for people", async () => {
    await using book = new LogBook({ listening: true });
    const log = book.log.with({ session_id: "s1" });
    log.info("turn started", { thread_id: "t1", model: undefined });
    log.target("http").warn("slow reader", { ms: 5 });
    log.debug("not asked for");
    await book.close();
    expect(book.lines()).toEqual([
      { level: "info", message: "turn started", session_id: "s1", thread_id: "t1" },
      { level: "warn", target: "http", message: "slow reader", session_id: "s1", ms: 5 },
    ]);
    expect(book.stderr).toEqual([
      "codex-mcp-server: turn started session_id=s1 thread_id=t1\n",
      "codex-mcp-server: slow reader session_id=s1 ms=5\n",
    ]);
  });

  it("on stdio stderr only gets warnings and errors", async () => {
    await using book = new LogBook();
    book.log.info("for the file");
    book.log.error("for both");
    await book.close();
    expect([book.lines(), book.stderr]).toEqual([
      [
        { level: "info", message: "for the file" },
        { level: "error", message: "for both" },
      ],
      ["codex-mcp-server: for both\n"],
    ]);
  });

  it("are filtered by part of the server", async () => {
    await using book = new LogBook({ env: { RUST_LOG: "off,http=debug" } });
    book.log.error("said by nobody in particular");
    book.log.target("http").debug("said by http");
    await book.close();
    expect([book.lines(), book.stderr]).toEqual([
      [{ level: "debug", target: "http", message: "said by http" }],
      ["codex-mcp-server: said by http\n"],
    ]);
  });

  it("contain no secret in any place", async () => {
    await using book = new LogBook({ listening: true, env: { CODEX_MCP_TOKEN: "from-the-environment" } });
    book.redactor.learn("from-a-file");
    book.log.with({ cookie: "a=b" }).info("Bearer abc from-the-environment", { cause: "from-a-file" });
    await book.close();
    expect([book.lines(), book.stderr]).toEqual([
      [{ level: "info", message: "Bearer **** ****", cookie: "****", cause: "****" }],
      ["codex-mcp-server: Bearer **** **** cookie=**** cause=****\n"],
    ]);
  });
});

describe("the file", () => {
  it("is created with the first line, for its owner only", async () => {
    await using book = new LogBook();
    book.log.debug("not asked for");
    await new Promise((resolve) => setImmediate(resolve));
    expect(existsSync(book.folder)).toBe(false);
    book.log.info("first");
    await eventually("the line", () => book.lines()[0]);
    expect([statSync(book.folder).mode & 0o777, statSync(book.file).mode & 0o777]).toEqual([0o700, 0o600]);
  });

  it("that was deleted is created again", async () => {
    await using book = new LogBook();
    book.log.info("first");
    await eventually("the first line", () => book.lines()[0]);
    rmSync(book.folder, { recursive: true });
    book.log.info("second");
    await book.close();
    expect(book.lines()).toEqual([{ level: "info", message: "second" }]);
  });

  it("that cannot be written is reported once; its lines are written later", async () => {
    await using book = new LogBook();
    writeFileSync(book.folder, "in the way");
    book.log.info("first");
    await eventually("the complaint", () => book.stderr[0]);
    for (let count = 0; count < 10; count++) book.log.info("more");
    rmSync(book.folder);
    // After a failure the log waits before it tries again.
    await eventually("another try", () => {
      book.log.info("knock");
      return book.lines()[0];
    });
    const [complaint, relief, ...others] = await eventually("relief", () => (book.stderr.length > 1 ? book.stderr : undefined));
    expect([complaint, relief, others]).toEqual([
      expect.stringMatching(/^codex-mcp-server: the log file .* cannot be written: ENOTDIR.*; logging resumes when it can be\n$/),
      expect.stringMatching(/ can be written again\n$/),
      [],
    ]);
    expect(book.lines().slice(0, 2)).toEqual([
      { level: "info", message: "first" },
      { level: "info", message: "more" },
    ]);
  });

  it.runIf(existsSync("/dev/full"))("on a full disk needs limited memory; lost lines are counted and reported", async () => {
    await using book = new LogBook();
    mkdirSync(book.folder);
    symlinkSync("/dev/full", book.file);
    const filling = { text: "x y ".repeat(2_500) };
    for (let count = 0; count < 200; count++) book.log.info("turn ended", filling);
    await eventually("the complaint", () => book.stderr[0]);
    expect(book.stderr).toEqual([expect.stringContaining("ENOSPC")]);
    expect(book.lost).toBeGreaterThan(80);
    rmSync(book.file);
    await book.close();
    const kept = book.lines();
    expect(kept.at(-1)).toEqual({
      level: "warn",
      message: "lines are missing here: the log could not be written",
      lost: book.lost,
    });
    expect(kept.length - 1 + book.lost).toBe(200);
  });
});

it("has the program's name, the message, and then the fields", () => {
  expect(stderrText("ignored a message: not JSON")).toBe("codex-mcp-server: ignored a message: not JSON\n");
  expect(stderrText("turn ended", { outcome: "completed", ms: 12, cause: "two words", at: undefined, left: null })).toBe(
    'codex-mcp-server: turn ended outcome=completed ms=12 cause="two words" left=null\n',
  );
});

it("no text can pass for a separate line or control the terminal", () => {
  expect(stderrText("failed: Error: x\n    at y\r\ncodex-mcp-server: all is well\u001b[2J\u0007\n")).toBe(
    "codex-mcp-server: failed: Error: x\n    at y\n    codex-mcp-server: all is well\ufffd[2J\ufffd\n",
  );
  expect(stderrText("x", { cause: "a\ncodex-mcp-server: b\u009b" })).toBe('codex-mcp-server: x cause="a\\ncodex-mcp-server: b\ufffd"\n');
});
