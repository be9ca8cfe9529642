import { describe, expect, it } from "vitest";
import { ScriptedModel, type ScriptRequest } from "./scriptedModel.js";

const NO_TOOLS: ScriptRequest["tools"] = [];
const OUTPUT = { type: "function_call_output", call_id: "call_1", output: "ok" };

function user(text: string) {
  return { type: "message", role: "user", content: [{ type: "input_text", text }] };
}

function ask(prompt: string, options: { tools?: ScriptRequest["tools"]; after?: ScriptRequest["input"]; model?: ScriptedModel } = {}) {
  const { tools = NO_TOOLS, after = [], model = new ScriptedModel() } = options;
  return model.answer({ model: "m", input: [user(prompt), ...after], tools });
}

function spokenText(answer: ReturnType<typeof ask>): string {
  return answer.events.map((event) => (event.type === "response.output_text.delta" ? event["delta"] : "")).join("");
}

function calledItems(answer: ReturnType<typeof ask>): unknown[] {
  return answer.events.filter((event) => event.type === "response.output_item.done").map((event) => event["item"]);
}

describe("the scripted model", () => {
  it("streams its text as a provider would, one delta per word", () => {
    const response = { id: "resp_1", object: "response", created_at: 1, model: "m", status: "in_progress", output: [] };
    const begun = { type: "message", id: "msg_2", role: "assistant", status: "in_progress", content: [] };
    const done = { ...begun, status: "completed", content: [{ type: "output_text", text: "two words", annotations: [] }] };
    const where = { output_index: 0, content_index: 0, item_id: "msg_2" };
    const usage = {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 15,
    };
    expect(ask("!say two words")).toEqual({
      delayMs: 0,
      gapMs: 0,
      status: 200,
      ending: "end",
      events: [
        { type: "response.created", sequence_number: 0, response },
        { type: "response.output_item.added", sequence_number: 1, output_index: 0, item: begun },
        {
          type: "response.content_part.added",
          sequence_number: 2,
          ...where,
          part: { type: "output_text", text: "", annotations: [] },
        },
        { type: "response.output_text.delta", sequence_number: 3, ...where, delta: "two " },
        { type: "response.output_text.delta", sequence_number: 4, ...where, delta: "words" },
        { type: "response.output_text.done", sequence_number: 5, ...where, text: "two words" },
        { type: "response.output_item.done", sequence_number: 6, output_index: 0, item: done },
        { type: "response.completed", sequence_number: 7, response: { ...response, status: "completed", output: [done], usage } },
      ],
    });
  });

  it("answers a prompt without a script with hello", () => {
    expect(spokenText(ask("How are you!\n![picture](x.png)"))).toBe("hello");
  });

  it("plays one line per tool output, then says done", () => {
    const prompt = "Please\n  !plan look|act\n!say looked";
    const model = new ScriptedModel();
    expect(calledItems(ask(prompt, { model }))).toEqual([
      {
        id: "fc_3",
        status: "completed",
        type: "function_call",
        call_id: "call_1",
        name: "update_plan",
        arguments: '{"plan":[{"step":"look","status":"in_progress"},{"step":"act","status":"pending"}]}',
      },
    ]);
    expect(spokenText(ask(prompt, { model, after: [OUTPUT] }))).toBe("looked");
    expect(spokenText(ask(prompt, { model, after: [OUTPUT, { type: "message", role: "assistant" }, OUTPUT] }))).toBe("done");
  });

  it("follows the newest message that has a script", () => {
    const after = [OUTPUT, user("!say newer"), user("no script here")];
    expect(spokenText(ask("!say older", { after }))).toBe("newer");
  });

  it("reads messages whose content is plain text", () => {
    const answer = new ScriptedModel().answer({ model: "m", input: [{ role: "user", content: "!say plain" }], tools: NO_TOOLS });
    expect(spokenText(answer)).toBe("plain");
  });

  it("counts ids across answers", () => {
    const model = new ScriptedModel();
    const ids = ["!plan a", "!say b", "!status 500", "!say c"].map((prompt) =>
      JSON.stringify(ask(prompt, { model })).match(/\w+_\d+(?=")/g),
    );
    expect(ids.map((found) => [...new Set(found)])).toEqual([["resp_2", "fc_3", "call_1"], ["resp_4", "msg_5"], [], ["resp_6", "msg_7"]]);
  });

  it("breaks lines where the script writes \\n", () => {
    expect(spokenText(ask("!say one\\ntwo"))).toBe("one\ntwo");
  });

  it("sends thousands of deltas without a pause, or some with pauses", () => {
    expect(spokenText(ask("!tokens 5000")).split(" ")).toHaveLength(5001);
    const slow = ask("!slow 3 50");
    expect([spokenText(slow), slow.gapMs]).toEqual(["w0 w1 w2 ", 50]);
  });

  it("completes without output", () => {
    expect(ask("!empty").events.map((event) => event.type)).toEqual(["response.created", "response.completed"]);
  });

  it("thinks and waits before every answer of a script that says so", () => {
    const prompt = "!delay 20\n!think hm, well\n!plan a\n!say b";
    const answers = [ask(prompt), ask(prompt, { after: [OUTPUT] })];
    expect(answers.map((answer) => answer.delayMs)).toEqual([20, 20]);
    expect(answers.map((answer) => calledItems(answer)[0])).toEqual([
      { type: "reasoning", id: "rs_3", summary: [{ type: "summary_text", text: "hm, well" }], encrypted_content: "opaque" },
      { type: "reasoning", id: "rs_2", summary: [{ type: "summary_text", text: "hm, well" }], encrypted_content: "opaque" },
    ]);
    const where = { output_index: 0, summary_index: 0, item_id: "rs_3" };
    expect(answers[0]?.events.slice(1, 7)).toEqual([
      { type: "response.output_item.added", sequence_number: 1, output_index: 0, item: { type: "reasoning", id: "rs_3", summary: [] } },
      { type: "response.reasoning_summary_part.added", sequence_number: 2, ...where, part: { type: "summary_text", text: "" } },
      { type: "response.reasoning_summary_text.delta", sequence_number: 3, ...where, delta: "hm, " },
      { type: "response.reasoning_summary_text.delta", sequence_number: 4, ...where, delta: "well" },
      { type: "response.reasoning_summary_text.done", sequence_number: 5, ...where, text: "hm, well" },
      { type: "response.output_item.done", sequence_number: 6, output_index: 0, item: calledItems(ask(prompt))[0] },
    ]);
  });

  it("fails in every way a provider can", () => {
    const scripted = '{"error":{"message":"scripted status 503","type":"scripted","code":"scripted"}}';
    const stream = { delayMs: 0, gapMs: 0, status: 200 };
    const response = { id: "resp_1", object: "response", created_at: 1, model: "m", output: [] };
    const created = { type: "response.created", sequence_number: 0, response: { ...response, status: "in_progress" } };
    expect(ask("!status 503")).toEqual({ ...stream, status: 503, body: scripted, events: [], ending: "end" });
    expect(ask('!status 429 {"error": 1}')).toEqual({ ...stream, status: 429, body: '{"error": 1}', events: [], ending: "end" });
    expect(ask("!drop")).toEqual({ ...stream, events: [created], ending: "cut" });
    expect(ask("!hang")).toEqual({ ...stream, events: [created], ending: "hang" });
    expect(ask("!fail some_code in words").events[1]).toEqual({
      type: "response.failed",
      sequence_number: 1,
      response: { ...response, status: "failed", error: { code: "some_code", message: "in words" } },
    });
    expect(ask("!incomplete max_output_tokens").events[1]).toEqual({
      type: "response.incomplete",
      sequence_number: 1,
      response: { ...response, status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
    });
  });
});

describe("the scripted model's tool calls", () => {
  const call = { id: "fc_3", status: "completed", type: "function_call", call_id: "call_1" };
  const custom = { type: "custom", name: "apply_patch" };
  const patch = "*** Begin Patch\n*** Add File: a.txt\n+one\n+two\n*** End Patch";

  it.each([
    [[{ type: "function", name: "shell" }], { ...call, name: "shell", arguments: '{"command":["bash","-lc","ls -l"]}' }],
    [NO_TOOLS, { ...call, name: "shell", arguments: '{"command":["bash","-lc","ls -l"]}' }],
    [[{ type: "function", name: "shell_command" }], { ...call, name: "shell_command", arguments: '{"command":"ls -l"}' }],
    [[{ type: "function", name: "exec_command" }], { ...call, name: "exec_command", arguments: '{"cmd":"ls -l"}' }],
    [[{ type: "local_shell" }], { ...call, type: "local_shell_call", action: { type: "exec", command: ["bash", "-lc", "ls -l"] } }],
  ])("use the shell that is offered: %j", (tools, expected) => {
    expect(calledItems(ask("!shell ls -l", { tools }))).toEqual([expected]);
  });

  it("ask to leave the sandbox with a reason", () => {
    const args = {
      command: ["bash", "-lc", "rm x"],
      sandbox_permissions: "require_escalated",
      with_escalated_permissions: true,
      justification: "the script asks for it",
    };
    expect(calledItems(ask("!escalate rm x"))).toEqual([{ ...call, name: "shell", arguments: JSON.stringify(args) }]);
  });

  it("may be two in one answer", () => {
    const answer = ask("!both ls || pwd\n!-\n!say seen", { tools: [{ type: "function", name: "exec_command" }] });
    expect(calledItems(answer)).toEqual([
      { ...call, id: "fc_4", name: "exec_command", arguments: '{"cmd":"ls"}' },
      { ...call, id: "fc_5", call_id: "call_2", name: "exec_command", arguments: '{"cmd":"pwd"}' },
    ]);
    expect(spokenText(ask("!both ls || pwd\n!-\n!say seen", { after: [OUTPUT, OUTPUT] }))).toBe("seen");
  });

  it("patch in the form that is offered", () => {
    const shellArguments = JSON.stringify({ command: ["bash", "-lc", `apply_patch <<'PATCH'\n${patch}\nPATCH`] });
    expect(calledItems(ask("!patch a.txt one\\ntwo", { tools: [custom] }))).toEqual([
      { ...call, type: "custom_tool_call", name: "apply_patch", input: patch },
    ]);
    expect(calledItems(ask("!patch a.txt one\\ntwo", { tools: [{ type: "function", name: "apply_patch" }] }))).toEqual([
      { ...call, name: "apply_patch", arguments: JSON.stringify({ input: patch }) },
    ]);
    expect(calledItems(ask("!patch a.txt one\\ntwo"))).toEqual([
      { ...call, id: "fc_4", call_id: "call_2", name: "shell", arguments: shellArguments },
    ]);
    expect(calledItems(ask("!rawpatch any\\ntext", { tools: [custom] }))).toEqual([
      { ...call, type: "custom_tool_call", name: "apply_patch", input: "any\ntext" },
    ]);
  });

  it("name any function, with or without arguments", () => {
    expect(calledItems(ask('!call look {"at": "it"}'))).toEqual([{ ...call, name: "look", arguments: '{"at": "it"}' }]);
    expect(calledItems(ask("!call look"))).toEqual([{ ...call, name: "look", arguments: "{}" }]);
  });

  it("may be any item, verbatim", () => {
    expect(calledItems(ask('!item {"type":"web_search_call","id":"ws_1"}'))).toEqual([
      { type: "web_search_call", id: "ws_1", status: "completed" },
    ]);
  });
});

describe("a line that cannot be played", () => {
  it.each([
    ["!item {broken", /^The script cannot be played: !item needs valid JSON: /],
    ["!item [1]", "!item needs a JSON object with a type."],
    ["!call", "!call needs the name of a function."],
    ["!tokens many", "!tokens needs a number of deltas, at most 200000."],
    ["!tokens 900000000000", "!tokens needs a number of deltas, at most 200000."],
    ["!slow 3", "!slow needs a number of deltas, at most 200000, and the milliseconds between them."],
    ["!status 7", "!status needs an HTTP status from 300 to 599."],
    ["!delay soon\n!say x", "!delay needs a number of milliseconds, at most 3600000."],
    ["!think", "!think needs the text of the reasoning summary."],
    ["!sing a song", /!sing is not a directive. The directives are: say, tokens, /],
  ])("is answered with the error: %s", (prompt, why) => {
    expect(spokenText(ask(prompt))).toEqual(typeof why === "string" ? `The script cannot be played: ${why}` : expect.stringMatching(why));
  });
});

describe("answers of several parts, and answers that break off", () => {
  const SHELL = [{ type: "function", name: "shell" }];
  const types = (answer: ReturnType<typeof ask>) => answer.events.map(({ type }) => type.replace("response.", ""));

  it("calls a command and fails afterwards", () => {
    const answer = ask("!callfail echo one", { tools: SHELL });
    expect(types(answer)).toEqual(["created", "output_item.added", "output_item.done", "failed"]);
    expect(answer).toMatchObject({ ending: "end", pauseMs: 300 });
  });

  it("calls a command, or says some words, and is cut off", () => {
    expect(ask("!cut echo one", { tools: SHELL })).toMatchObject({ ending: "cut", pauseMs: 300 });
    const partial = ask("!partial some words");
    expect([partial.ending, spokenText(partial), types(partial).at(-1)]).toEqual(["cut", "some words", "output_text.delta"]);
  });

  it("streams its reasoning", () => {
    const answer = ask("!rawthink deep thoughts");
    expect(types(answer).filter((type) => type === "reasoning_text.delta")).toHaveLength(2);
    expect(calledItems(answer)).toMatchObject([
      { type: "reasoning", content: [{ type: "reasoning_text", text: "deep thoughts" }] },
      { type: "message", content: [{ text: "thought" }] },
    ]);
  });

  it("says words and calls a command, or says two things", () => {
    expect(calledItems(ask("!mix look || ls", { tools: SHELL }))).toMatchObject([{ type: "message" }, { type: "function_call" }]);
    expect(calledItems(ask("!messages one || two"))).toMatchObject([{ content: [{ text: "one" }] }, { content: [{ text: "two" }] }]);
  });

  it("reports the usage that the script says", () => {
    const answer = ask("!usage 900 20 so much");
    expect(answer.events.at(-1)).toMatchObject({ response: { usage: { input_tokens: 900, output_tokens: 20, total_tokens: 920 } } });
    expect(spokenText(ask("!usage many words"))).toContain("!usage needs");
  });
});
