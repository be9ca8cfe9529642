import { describe, expect, it } from "vitest";
import { began, done, endingOf, shownAs, WORKSPACE } from "../../../../test/support/translatedTurn.js";
import { ThreadMemory } from "./threadMemory.js";

const BEGUN = {
  type: "commandExecution",
  id: "c1",
  command: "/bin/bash -lc 'cat \"a b\" | rg x'",
  cwd: "/ws/sub",
  status: "inProgress",
  commandActions: [
    { type: "read", command: 'cat "a b"', name: "a b", path: "/ws/sub/a b" },
    { type: "search", command: "rg x", query: "x", path: null },
    { type: "listFiles", command: "ls", path: "src" },
    { type: "unknown", command: "make" },
  ],
  aggregatedOutput: null,
  exitCode: null,
  durationMs: null,
};
const CALL = {
  callId: "c1",
  command: ["/bin/bash", "-lc", 'cat "a b" | rg x'],
  cwd: "/ws/sub",
  parsed: [
    { type: "read", cmd: 'cat "a b"', name: "a b", path: "/ws/sub/a b" },
    { type: "search", cmd: "rg x", query: "x", path: null },
    { type: "list_files", cmd: "ls", path: "src" },
    { type: "unknown", cmd: "make" },
  ],
};

function ended(output: string, stderr: string, exitCode: number) {
  const all = output + stderr;
  return { type: "commandEnded", ...CALL, stdout: output, stderr, aggregatedOutput: all, formattedOutput: all, exitCode };
}

describe("a command", () => {
  it("begins with its words and what they do, streams, and ends", () => {
    const shown = shownAs([
      began(BEGUN),
      ["item/commandExecution/outputDelta", { itemId: "c1", delta: "two\n" }],
      done({ ...BEGUN, status: "failed", aggregatedOutput: "one\ntwo\n", exitCode: 3, durationMs: 1133 }),
    ]);
    expect(shown).toEqual([
      { type: "commandStarted", ...CALL },
      { type: "commandOutput", callId: "c1", stream: "stdout", bytes: Buffer.from("two\n") },
      { ...ended("one\ntwo\n", "", 3), durationMs: 1133 },
    ]);
  });

  it("that ends before anything is streamed shows its output at once", () => {
    expect(shownAs([done({ ...BEGUN, status: "completed", aggregatedOutput: "hi\n", exitCode: 0, durationMs: 5 })])).toEqual([
      { type: "commandStarted", ...CALL },
      { type: "commandOutput", callId: "c1", stream: "stdout", bytes: Buffer.from("hi\n") },
      { ...ended("hi\n", "", 0), durationMs: 5 },
    ]);
  });

  it.each([
    ["was declined", "declined", "exec command rejected by user"],
    ["never ran", "failed", "the command did not run"],
  ])("that %s ends with that", (_what, status, stderr) => {
    expect(shownAs([began(BEGUN), done({ ...BEGUN, status })]).slice(1)).toEqual([{ ...ended("", stderr, -1), durationMs: 0 }]);
  });

  it("whose line cannot be split is shown as one word", () => {
    const [start] = shownAs([began({ ...BEGUN, command: "sh -c 'open", cwd: null })]);
    expect(start).toEqual({ type: "commandStarted", ...CALL, command: ["sh -c 'open"], cwd: WORKSPACE });
  });

  it.each([
    ["interrupted", { kind: "interrupted" as const }, "command interrupted"],
    ["over while it runs on", { kind: "completed" as const }, "still running when the turn ended"],
  ])("is closed when its turn is %s, and what it does later belongs to no turn", (_what, ending, stderr) => {
    const memory = new ThreadMemory();
    const told = [began(BEGUN), ["item/commandExecution/outputDelta", { turnId: "turn-1", itemId: "c1", delta: "so far" }]] as const;
    expect(endingOf(told, ending, { memory })[0]).toEqual({
      ...ended("so far", "", -1),
      stderr,
      aggregatedOutput: `so far\n${stderr}`,
      formattedOutput: `so far\n${stderr}`,
      durationMs: 0,
    });
    expect(shownAs([done({ ...BEGUN, status: "failed", exitCode: -1 })], { memory })).toEqual([]);
  });
});
