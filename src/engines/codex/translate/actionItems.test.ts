import { describe, expect, it } from "vitest";
import { began, done, endingOf, shownAs, translatorFor, WORKSPACE } from "../../../../test/support/codex/translatedTurn.js";
import { ThreadMemory } from "./threadMemory.js";

const COMMAND_BEGUN = {
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
  it("starts with its words and their classification, streams its output, and ends", () => {
    const shown = shownAs([
      began(COMMAND_BEGUN),
      ["item/commandExecution/outputDelta", { itemId: "c1", delta: "two\n" }],
      done({ ...COMMAND_BEGUN, status: "failed", aggregatedOutput: "one\ntwo\n", exitCode: 3, durationMs: 1133 }),
    ]);
    expect(shown).toEqual([
      { type: "commandStarted", ...CALL },
      { type: "commandOutput", callId: "c1", stream: "stdout", bytes: Buffer.from("two\n") },
      { ...ended("one\ntwo\n", "", 3), durationMs: 1133 },
    ]);
  });

  it("that ends before anything is streamed shows its output at once", () => {
    expect(shownAs([done({ ...COMMAND_BEGUN, status: "completed", aggregatedOutput: "hi\n", exitCode: 0, durationMs: 5 })])).toEqual([
      { type: "commandStarted", ...CALL },
      { type: "commandOutput", callId: "c1", stream: "stdout", bytes: Buffer.from("hi\n") },
      { ...ended("hi\n", "", 0), durationMs: 5 },
    ]);
  });

  it.each([
    ["was declined", "declined", "exec command rejected by user", { declined: true }],
    ["never ran", "failed", "the command did not run", { neverStarted: true }],
  ])("that %s ends with that", (_what, status, stderr, more) => {
    expect(shownAs([began(COMMAND_BEGUN), done({ ...COMMAND_BEGUN, status })]).slice(1)).toEqual([
      { ...ended("", stderr, -1), ...more, durationMs: 0 },
    ]);
  });

  it.each([
    ["that could not be started", -1, { neverStarted: true }],
    ["that prints the same and ran", 1, {}],
  ])("%s, in Codex's words, is shown as what it is", (_what, exitCode, more) => {
    const aggregatedOutput = "Failed to create unified exec process: No such file or directory (os error 2)";
    expect(shownAs([done({ ...COMMAND_BEGUN, status: "failed", aggregatedOutput, exitCode, durationMs: 0 })]).at(-1)).toEqual({
      ...ended(aggregatedOutput, "", exitCode),
      ...more,
      durationMs: 0,
    });
  });

  it("is a single word if its line cannot be split", () => {
    const [start] = shownAs([began({ ...COMMAND_BEGUN, command: "sh -c 'open", cwd: null })]);
    expect(start).toEqual({ type: "commandStarted", ...CALL, command: ["sh -c 'open"], cwd: WORKSPACE });
  });

  it.each([
    ["interrupted", { kind: "interrupted" as const }, "command interrupted", { cutOff: true }],
    ["over while it runs on", { kind: "completed" as const }, "still running when the turn ended", { stillRuns: true }],
  ])("is closed when its turn is %s, and its later output belongs to no turn", (_what, ending, stderr, more) => {
    const memory = new ThreadMemory();
    const told = [
      began(COMMAND_BEGUN),
      ["item/commandExecution/outputDelta", { turnId: "turn-1", itemId: "c1", delta: "so far" }],
    ] as const;
    expect(endingOf(told, ending, { memory })[0]).toEqual({
      ...ended("so far", "", -1),
      stderr,
      aggregatedOutput: `so far\n${stderr}`,
      formattedOutput: `so far\n${stderr}`,
      ...more,
      durationMs: 0,
    });
    expect(shownAs([done({ ...COMMAND_BEGUN, status: "failed", exitCode: -1 })], { memory })).toEqual([]);
  });
});

const CHANGE_BEGUN = {
  type: "fileChange",
  id: "p1",
  status: "inProgress",
  changes: [
    { path: "/ws/gone.txt", kind: { type: "delete" }, diff: "old\n" },
    {
      path: "/ws/a.txt",
      kind: { type: "update", move_path: "/elsewhere/b.txt" },
      diff: "@@ -1 +1 @@\n-a\n+b\n\n\nMoved to: /elsewhere/b.txt",
    },
    { path: "/ws/new/n.txt", kind: { type: "add" }, diff: "hello\n" },
  ],
};
const CHANGES = {
  "/ws/gone.txt": { type: "delete", content: "old\n" },
  "/ws/a.txt": { type: "update", unified_diff: "@@ -1 +1 @@\n-a\n+b\n", move_path: "/elsewhere/b.txt" },
  "/ws/new/n.txt": { type: "add", content: "hello\n" },
};
const SUMMARY = "Success. Updated the following files:\nA new/n.txt\nM /elsewhere/b.txt\nD gone.txt\n";

describe("a change of files", () => {
  it("without a question begins as approved, and ends with the output of applying it", () => {
    expect(shownAs([began(CHANGE_BEGUN), done({ ...CHANGE_BEGUN, status: "completed" })])).toEqual([
      { type: "patchStarted", callId: "p1", autoApproved: true, changes: CHANGES },
      { type: "commandOutput", callId: "p1", stream: "stdout", bytes: Buffer.from(SUMMARY) },
      { type: "patchEnded", callId: "p1", stdout: SUMMARY, stderr: "", success: true, changes: CHANGES },
    ]);
  });

  it.each([
    ["declined", "patch rejected by user"],
    ["failed", "the patch could not be applied"],
  ])("that needs approval starts before the question, and tells how it %s", (status, stderr) => {
    const translator = translatorFor();
    translator.notification(...began(CHANGE_BEGUN));
    expect(translator.asked({ itemId: "p1" })).toEqual([{ type: "patchStarted", callId: "p1", autoApproved: false, changes: CHANGES }]);
    expect(translator.asked({ itemId: "p1" })).toEqual([]);
    expect(translator.notification(...done({ ...CHANGE_BEGUN, status }))).toEqual([
      { type: "patchEnded", callId: "p1", stdout: "", stderr, success: false, changes: CHANGES },
    ]);
  });

  it("that is still being written is shown in its latest version", () => {
    const changes = CHANGE_BEGUN.changes.slice(2);
    const told = [began(CHANGE_BEGUN), ["item/fileChange/patchUpdated", { itemId: "p1", changes }]] as const;
    expect(endingOf(told, { kind: "interrupted" })).toEqual([
      { type: "patchStarted", callId: "p1", autoApproved: true, changes: { "/ws/new/n.txt": CHANGES["/ws/new/n.txt"] } },
      {
        type: "patchEnded",
        callId: "p1",
        stdout: "",
        stderr: "patch interrupted",
        success: false,
        changes: { "/ws/new/n.txt": CHANGES["/ws/new/n.txt"] },
      },
      { type: "turnAborted", reason: "interrupted" },
    ]);
  });
});
