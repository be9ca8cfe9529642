import { describe, expect, it } from "vitest";
import { began, done, endingOf, shownAs, translatorFor } from "../../../../test/support/translatedTurn.js";

const BEGUN = {
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
  it("that nobody is asked about begins as approved, and ends with what applying it printed", () => {
    expect(shownAs([began(BEGUN), done({ ...BEGUN, status: "completed" })])).toEqual([
      { type: "patchStarted", callId: "p1", autoApproved: true, changes: CHANGES },
      { type: "commandOutput", callId: "p1", stream: "stdout", bytes: Buffer.from(SUMMARY) },
      { type: "patchEnded", callId: "p1", stdout: SUMMARY, stderr: "", success: true, changes: CHANGES },
    ]);
  });

  it.each([
    ["declined", "patch rejected by user"],
    ["failed", "the patch could not be applied"],
  ])("that is asked about begins before the question, and says how it %s", (status, stderr) => {
    const translator = translatorFor();
    translator.notification(...began(BEGUN));
    expect(translator.asked({ itemId: "p1" })).toEqual([{ type: "patchStarted", callId: "p1", autoApproved: false, changes: CHANGES }]);
    expect(translator.asked({ itemId: "p1" })).toEqual([]);
    expect(translator.notification(...done({ ...BEGUN, status }))).toEqual([
      { type: "patchEnded", callId: "p1", stdout: "", stderr, success: false, changes: CHANGES },
    ]);
  });

  it("that is still being written is shown as it was last told", () => {
    const changes = BEGUN.changes.slice(2);
    const told = [began(BEGUN), ["item/fileChange/patchUpdated", { itemId: "p1", changes }]] as const;
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
