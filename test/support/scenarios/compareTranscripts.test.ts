import { describe, expect, it } from "vitest";
import { compareTranscripts } from "./compareTranscripts.js";
import { allScenarios } from "./scenario.js";
import { type Entry, recordingOf, type Transcript } from "./transcript.js";

/** A copy of the recording in which every message went through `change`; undefined drops it. */
function altered(recording: Transcript, change: (text: string) => string | undefined): Transcript {
  return recording.flatMap((entry): Entry[] => {
    const text = change(JSON.stringify(entry));
    return text === undefined ? [] : [JSON.parse(text)];
  });
}

const TURN = recordingOf("turn-simple");
const COMMAND = recordingOf("shell-exit-code");
/** What its command wrote on stdout. */
const OUTPUT = Buffer.from("to-out\n");
const ORDER = [
  "session_configured",
  "raw_response_item",
  "raw_response_item",
  "task_started",
  "raw_response_item",
  "item_started",
  "item_completed",
  "user_message",
  "item_started",
  "agent_message_content_delta",
  "agent_message_delta",
  "item_completed",
  "agent_message",
  "raw_response_item",
  "task_complete",
];

describe("comparing transcripts", () => {
  it.each(allScenarios().map(({ name }) => name))("finds %s the same as itself", (name) => {
    expect(compareTranscripts(recordingOf(name), recordingOf(name))).toEqual([]);
  });

  it("overlooks other ids, other wording, other cuts into deltas, and what we may add", () => {
    const other = altered(TURN, (text) =>
      text
        .replaceAll("<id 1 of 2>", "0199b5e4-0000-7000-8000-000000000001")
        .replaceAll("<id 2 of 2>", "0199b5e4-0000-7000-8000-000000000002")
        .replaceAll("<msg 1 of 2>", "msg_17")
        .replaceAll("<wording>", "our own words")
        .replace('"capabilities":{', '"capabilities":{"logging":{},')
        .replace('"result":{', '"result":{"_meta":{"engine":"native"},')
        .replaceAll('"delta":"Hello "', '"delta":"Hello from "')
        .replaceAll('"delta":"from "', '"delta":""'),
    );
    expect(compareTranscripts(TURN, other)).toEqual([]);
  });

  it("reports another answer, and one too many", () => {
    const other = altered(TURN, (text) => text.replace('"id":2,"jsonrpc":"2.0","result"', '"id":3,"jsonrpc":"2.0","result"'));
    const text = "Hello from the model.";
    const answer = [{ content: [{ text, type: "text" }], structuredContent: { threadId: "<id 1 of 2>", content: text } }];
    expect(compareTranscripts(TURN, other)).toEqual([
      { aspect: "answers", about: "2", recorded: answer, ours: undefined },
      { aspect: "answers", about: "3", recorded: undefined, ours: answer },
    ]);
  });

  it("reports an event that is missing", () => {
    const other = altered(TURN, (text) => (text.includes('"type":"user_message"') ? undefined : text));
    const ours = ORDER.filter((type) => type !== "user_message");
    expect(compareTranscripts(TURN, other)).toEqual([{ aspect: "events", about: "2", recorded: ORDER, ours }]);
  });

  it("reports events in another order", () => {
    const [first, second, ...rest] = ORDER;
    const at = TURN.findIndex((entry) => JSON.stringify(entry).includes("session_configured"));
    const swapped = [...TURN.slice(0, at), TURN[at + 1], TURN[at], ...TURN.slice(at + 2)].filter((entry) => entry !== undefined);
    expect(compareTranscripts(TURN, swapped)).toEqual([{ aspect: "events", about: "2", recorded: ORDER, ours: [second, first, ...rest] }]);
  });

  it("reports a field that is missing, and one that says something else", () => {
    const other = altered(TURN, (text) => text.replace('"turn_id":"2",', "").replace('"total_tokens":15', '"total_tokens":16'));
    expect(compareTranscripts(TURN, other).map(({ aspect, about }) => [aspect, about])).toEqual([
      ["fields", "item_started"],
      ["fields", "item_completed"],
      ["fields", "agent_message_content_delta"],
      ["contents", "item_started of call 2"],
      ["contents", "item_completed of call 2"],
      ["contents", "token_count of call 2"],
      ["contents", "agent_message_content_delta of call 2"],
    ]);
  });

  it("describes a difference by the values that differ", () => {
    const other = altered(COMMAND, (text) =>
      text.replace('"exit_code":3', '"exit_code":4').replace('"cwd":"<WS>","parsed_cmd"', '"parsed_cmd"'),
    );
    expect(compareTranscripts(COMMAND, other).filter(({ aspect }) => aspect === "contents")).toEqual([
      { aspect: "contents", about: "exec_command_begin of call 2", recorded: { "0.cwd": "<WS>" }, ours: { "0.cwd": "nothing" } },
      {
        aspect: "contents",
        about: "exec_command_end of call 2",
        recorded: { "0.cwd": "<WS>", "0.exit_code": 3 },
        ours: { "0.cwd": "nothing", "0.exit_code": 4 },
      },
    ]);
  });

  it("overlooks how a command's output was cut, which stream came first, and how long the command took", () => {
    const at = COMMAND.findIndex((entry) => JSON.stringify(entry).includes(OUTPUT.toString("base64")));
    const [before, stdout, stderr, after] = [
      COMMAND.slice(0, at),
      COMMAND.slice(at, at + 1),
      COMMAND.slice(at + 1, at + 2),
      COMMAND.slice(at + 2),
    ];
    const halves = [OUTPUT.subarray(0, 3), OUTPUT.subarray(3)].flatMap((half) =>
      altered(stdout, (text) => text.replace(OUTPUT.toString("base64"), half.toString("base64"))),
    );
    const other = altered([...before, ...stderr, ...halves, ...after], (text) =>
      text.replace(String.raw`\"duration_seconds\":\"<span>\"`, String.raw`\"duration_seconds\":12.5`),
    );
    expect(JSON.stringify(other)).toContain("12.5");
    expect(compareTranscripts(COMMAND, other)).toEqual([]);
  });

  it("reports another output of a command", () => {
    const other = altered(COMMAND, (text) => text.replace(OUTPUT.toString("base64"), Buffer.from("other").toString("base64")));
    expect(compareTranscripts(COMMAND, other)).toEqual([
      {
        aspect: "contents",
        about: "exec_command_output_delta of call 2",
        recorded: { "1.text": OUTPUT.toString() },
        ours: { "1.text": "other" },
      },
    ]);
  });

  it("overlooks how far a turn got that was aborted", () => {
    const recording = recordingOf("cancel-mid-stream");
    const other = altered(recording, (text) => (text.includes('"delta":"w1 "') ? undefined : text));
    expect(other.length).toBeLessThan(recording.length);
    expect(compareTranscripts(recording, other)).toEqual([]);
  });

  it("compares what can be matched where the order differs", () => {
    const other = altered(TURN, (text) =>
      text.includes('"type":"user_message"') ? undefined : text.replace('"last_agent_message":"', '"last_agent_message":"not '),
    );
    expect(compareTranscripts(TURN, other).map(({ aspect, about }) => [aspect, about])).toEqual([
      ["events", "2"],
      ["contents", "task_complete of call 2"],
    ]);
  });

  it("reports words that are missing where the reference had some", () => {
    const other = altered(TURN, (text) => text.replace("<wording>", ""));
    expect(compareTranscripts(TURN, other).map(({ about }) => about)).toEqual(["raw_response_item of call 2"]);
  });

  it("reports questions, notifications and noise the reference never sent", () => {
    const question = { jsonrpc: "2.0", id: 0, method: "elicitation/create", params: { message: "Sure?", requestedSchema: {} } };
    const progress = { jsonrpc: "2.0", method: "notifications/progress", params: { progress: 1 } };
    const added: Entry[] = [
      { dir: "out", msg: question },
      { dir: "out", msg: progress },
      { dir: "out", msg: progress },
      { dir: "out", raw: "debugger listening" },
    ];
    expect(compareTranscripts(TURN, [...TURN, ...added])).toEqual([
      { aspect: "questions", about: "", recorded: [], ours: [{ method: "elicitation/create", params: { message: "Sure?" } }] },
      { aspect: "notifications", about: "", recorded: [], ours: ["notifications/progress"] },
      { aspect: "noise", about: "", recorded: [], ours: ["debugger listening"] },
    ]);
  });

  it("reports another ending", () => {
    const other = altered(TURN, (text) =>
      text.replace('"code":0', '"code":1').replace('"processesLeft":[]', '"processesLeft":["sleep 9"]'),
    );
    expect(compareTranscripts(TURN, other)).toEqual([
      {
        aspect: "ending",
        about: "",
        recorded: [{ exit: { code: 0, signal: null } }, { processesLeft: [] }],
        ours: [{ exit: { code: 1, signal: null } }, { processesLeft: ["sleep 9"] }],
      },
    ]);
  });

  it("reports another question to the model", () => {
    const recording = recordingOf("args-all");
    const other = altered(recording, (text) => (text.startsWith('{"dir":"model"') ? text.replace("BASE TEXT", "OTHER TEXT") : text));
    expect(compareTranscripts(recording, other).map(({ aspect }) => aspect)).toEqual(["requests"]);
  });
});
