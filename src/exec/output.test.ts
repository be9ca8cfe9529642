import { describe, expect, it } from "vitest";
import {
  abortedAnswer,
  aggregate,
  type FinishedCommand,
  formattedOutput,
  HeadAndTail,
  resultAsText,
  sessionAnswer,
  shellAnswer,
  shellCommandAnswer,
  type TruncationPolicy,
  truncateMiddle,
} from "./output.js";

function keep(limitBytes: number, ...chunks: readonly (string | Buffer)[]): { text: string; omitted: number } {
  const kept = new HeadAndTail(limitBytes);
  for (const chunk of chunks) kept.push(Buffer.from(chunk));
  return { text: kept.bytes().toString(), omitted: kept.omittedBytes };
}

describe("the beginning and the end of output", () => {
  it("are all of it when it fits", () => {
    expect(keep(10, "01234", "56789")).toEqual({ text: "0123456789", omitted: 0 });
  });

  it("each get half of the limit", () => {
    expect(keep(10, "0123456789abcdefghij")).toEqual({ text: "01234fghij", omitted: 10 });
  });

  it("do not depend on the pieces in which it arrived", () => {
    const text = Array.from({ length: 1000 }, (_, at) => String.fromCharCode(97 + (at % 26))).join("");
    for (const size of [1, 2, 3, 7, 50, 99, 100, 101, 1000]) {
      const chunks = Array.from({ length: Math.ceil(text.length / size) }, (_, at) => text.slice(at * size, (at + 1) * size));
      expect(keep(100, ...chunks)).toEqual({ text: text.slice(0, 50) + text.slice(-50), omitted: 900 });
    }
  });

  it("contain no incomplete characters at the gap", () => {
    expect(keep(8, "a€€€€€b")).toEqual({ text: "a€€b", omitted: 9 });
    expect(keep(6, "€é𝄞é€")).toEqual({ text: "€€", omitted: 8 });
  });

  it("keep bytes that are not text", () => {
    expect(keep(4, Buffer.from([0xff, 0xfe, 0x80, 0x80])).text).toBe("\ufffd\ufffd\ufffd\ufffd");
  });
});

describe("both streams together", () => {
  const together = (out: number, err: number, limit: number) => {
    const text = aggregate(Buffer.alloc(out, "o"), Buffer.alloc(err, "e"), limit).toString();
    return [text.lastIndexOf("o") + 1, text.length];
  };

  it("come one after the other when they fit", () => {
    expect(aggregate(Buffer.from("out"), Buffer.from("err"), 6).toString()).toBe("outerr");
  });

  it("share the space: a third for stdout, two thirds for stderr", () => {
    expect(together(900, 900, 300)).toEqual([100, 300]);
  });

  it("may use the share that the other one leaves", () => {
    expect([together(900, 20, 300), together(50, 900, 300)]).toEqual([
      [280, 300],
      [50, 300],
    ]);
  });
});

const BYTES: TruncationPolicy = { unit: "bytes", limit: 10_000 };
const TOKENS: TruncationPolicy = { unit: "tokens", limit: 10_000 };

function finished(aggregatedOutput: string, rest: Partial<FinishedCommand> = {}): FinishedCommand {
  return { aggregatedOutput, exitCode: 0, durationMs: 12, ended: "exited", ...rest };
}

describe("text that is too long", () => {
  it("loses its middle, counted in characters", () => {
    expect(truncateMiddle("0123456789", { unit: "bytes", limit: 4 })).toBe("01…6 chars truncated…89");
    expect(truncateMiddle("0123456789", { unit: "bytes", limit: 10 })).toBe("0123456789");
  });

  it("loses its middle, counted in tokens of four bytes", () => {
    expect(truncateMiddle("0123456789abcdefg", { unit: "tokens", limit: 2 })).toBe("0123…3 tokens truncated…defg");
  });

  it("is cut between characters", () => {
    expect(truncateMiddle("€€€€€", { unit: "bytes", limit: 8 })).toBe("€…3 chars truncated…€");
  });

  it("may be removed completely", () => {
    expect(truncateMiddle("abc", { unit: "bytes", limit: 0 })).toBe("…3 chars truncated…");
  });
});

describe("the output in exec_command_end", () => {
  it("is the output itself when it fits", () => {
    expect(formattedOutput(finished("to-out\nto-err\n"), BYTES)).toBe("to-out\nto-err\n");
  });

  it("states the number of lines if it was cut", () => {
    const output = `${"abcdefghi\n".repeat(6_000)}yes: standard output: Broken pipe\n`;
    const shown = formattedOutput(finished(output), BYTES);
    expect(shown).toBe(`Total output lines: 6001\n\n${output.slice(0, 5_000)}…50034 chars truncated…${output.slice(-5_000)}`);
  });

  it("begins with the time-out", () => {
    expect(formattedOutput(finished("so far", { ended: "timedOut", durationMs: 1_004.7 }), BYTES)).toBe(
      "command timed out after 1004 milliseconds\nso far",
    );
  });
});

describe("what a tool answers", () => {
  it("shell: JSON with one decimal", () => {
    expect(shellAnswer(finished('a "b"\n', { exitCode: 3, durationMs: 6_000 }), TOKENS)).toBe(
      '{"output":"a \\"b\\"\\n","metadata":{"exit_code":3,"duration_seconds":6.0}}',
    );
  });

  it("shell_command: lines", () => {
    expect(shellCommandAnswer(finished("hi\n"), TOKENS)).toBe("Exit code: 0\nWall time: 0 seconds\nOutput:\nhi\n");
    expect(shellCommandAnswer(finished("1\n2\n3\n4\n5\n", { exitCode: 1, durationMs: 140 }), { unit: "bytes", limit: 4 })).toBe(
      "Exit code: 1\nWall time: 0.1 seconds\nTotal output lines: 5\nOutput:\n1\n…6 chars truncated…5\n",
    );
  });

  it("exec_command: a process that ended, and one that runs", () => {
    expect([
      sessionAnswer({ output: "done\n", wallTimeMs: 123.4, chunkId: "0a1b2c", exitCode: 0, maxOutputTokens: 10 }),
      sessionAnswer({ output: "0123456789", wallTimeMs: 10_000, sessionId: 4_711, maxOutputTokens: 1 }),
    ]).toEqual([
      "Chunk ID: 0a1b2c\nWall time: 0.1234 seconds\nProcess exited with code 0\nOriginal token count: 2\nOutput:\ndone\n",
      "Wall time: 10.0000 seconds\nProcess running with session ID 4711\nOriginal token count: 3\nOutput:\nTotal output lines: 1\n\n01…2 tokens truncated…89",
    ]);
  });

  it("interrupted", () => {
    expect(abortedAnswer(980)).toBe("Wall time: 1.0 seconds\naborted by user");
  });
});

describe("resultAsText", () => {
  it("has the same content as the answer of shell, without JSON", () => {
    const answer = shellAnswer(
      { aggregatedOutput: 'a "b"\n', exitCode: 3, durationMs: 250, ended: "exited" },
      { unit: "bytes", limit: 100 },
    );
    expect(resultAsText(answer)).toBe('Exit code: 3\nWall time: 0.3 seconds\nOutput:\na "b"\n');
  });

  it("states the number of cut lines on a line of its own", () => {
    const answer = shellAnswer(
      { aggregatedOutput: "line\n".repeat(50), exitCode: 0, durationMs: 0, ended: "exited" },
      { unit: "bytes", limit: 20 },
    );
    expect(resultAsText(answer)).toMatch(/^Exit code: 0\nWall time: 0 seconds\nTotal output lines: 50\nOutput:\nline\n/);
  });

  const CUT = String.raw`{"output":"1\n2\…9 chars truncated…n8\n","metadata":{"exit_code":0,"duration_seconds":0.1}}`;

  it.each(["", "aborted by user", '{"output":"x"}', '{"output":"x","metadata":{"exit_code":0}}', CUT])("leaves %j alone", (text) => {
    expect(resultAsText(text)).toBeUndefined();
  });
});
