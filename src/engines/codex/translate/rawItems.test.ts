import { describe, expect, it } from "vitest";
import { began, done, endingOf, shownAs, type Told } from "../../../../test/support/codex/translatedTurn.js";

const CALL = { type: "function_call", id: "fc_1", name: "exec_command", call_id: "c1", arguments: '{"cmd":"touch x","workdir":"sub"}' };
const OUTPUT = {
  type: "function_call_output",
  call_id: "c1",
  output:
    "Chunk ID: be5321\nWall time: 0.0250 seconds\nProcess exited with code 1\nOriginal token count: 12\nOutput:\nRead-only file system\n",
};

function raw(item: Readonly<Record<string, unknown>>): Told {
  return ["rawResponseItem/completed", { turnId: "turn-1", item: { ...item, internal_chat_message_metadata_passthrough: {} } }];
}

function shown(item: Readonly<Record<string, unknown>>) {
  return { type: "rawItem", item };
}

describe("an item of the model's conversation", () => {
  it("is shown without the fields that the app-server added to it", () => {
    const message = { type: "message", role: "user", content: [{ type: "input_text", text: "hi" }] };
    expect(shownAs([raw(message)])).toEqual([shown(message)]);
  });

  it("without a type is ignored", () => {
    expect(shownAs([raw({ role: "user" }), ["rawResponseItem/completed", { item: "text" }]])).toEqual([]);
  });
});

describe("a command without an item", () => {
  const command = { callId: "c1", command: ["bash", "-lc", "touch x"], cwd: "/ws/sub", parsed: [{ type: "unknown", cmd: "touch x" }] };
  const printed = "Read-only file system\n";

  it("is shown with the output that the model gets", () => {
    expect(shownAs([raw(CALL), raw(OUTPUT)])).toEqual([
      shown(CALL),
      { type: "commandStarted", ...command },
      { type: "commandOutput", callId: "c1", stream: "stdout", bytes: Buffer.from(printed) },
      {
        type: "commandEnded",
        ...command,
        stdout: printed,
        stderr: "",
        aggregatedOutput: printed,
        formattedOutput: printed,
        exitCode: 1,
        durationMs: 25,
      },
      shown(OUTPUT),
    ]);
  });

  it("is not shown a second time if an item shows it", () => {
    const item = { type: "commandExecution", id: "c1", command: "bash -lc 'touch x'", status: "completed", exitCode: 0 };
    const events = shownAs([raw(CALL), began(item), done(item), raw(OUTPUT)]);
    expect(events.map(({ type }) => type)).toEqual(["rawItem", "commandStarted", "commandEnded", "rawItem"]);
  });

  it.each([
    ["a call that ran nothing", CALL, { ...OUTPUT, output: "patch rejected: writing is blocked" }],
    ["another tool", { ...CALL, name: "write_stdin" }, OUTPUT],
    ["arguments nobody can read", { ...CALL, arguments: "{" }, OUTPUT],
    ["an output of another kind", CALL, { ...OUTPUT, type: "custom_tool_call_output" }],
  ])("is not derived from %s", (_what, call, output) => {
    expect(shownAs([raw(call), raw(output)])).toEqual([shown(call), shown(output)]);
  });
});

it("calls that an interrupted turn leaves without output get one", () => {
  const custom = { type: "custom_tool_call", call_id: "c2", name: "apply_patch", input: "" };
  expect(endingOf([raw(CALL), raw(custom), raw(OUTPUT)], { kind: "interrupted" })).toEqual([
    shown({ type: "custom_tool_call_output", call_id: "c2", output: "aborted by user" }),
    { type: "turnAborted", reason: "interrupted" },
  ]);
});
