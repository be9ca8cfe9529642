import { describe, expect, it } from "vitest";
import type { RawItem } from "../../../threads/items.js";
import { History, message, shownItem, toolCallOf, toolOutput, unansweredCalls } from "./items.js";

describe("an item as readers see it", () => {
  it.each<[RawItem, unknown]>([
    [
      {
        type: "message",
        id: "m",
        role: "assistant",
        content: [
          { type: "output_text", text: "a" },
          { type: "refusal", refusal: "no" },
          { type: "output_text", text: "b" },
        ],
      },
      { kind: "agentMessage", id: "m", texts: ["a", "no", "b"] },
    ],
    [
      { type: "message", role: "assistant" },
      { kind: "agentMessage", id: "", texts: [] },
    ],
    [{ type: "message", id: "m", role: "user", content: [{ type: "input_text", text: "a" }] }, undefined],
    [
      {
        type: "reasoning",
        id: "r",
        summary: [{ type: "summary_text", text: "s" }],
        content: [{ type: "reasoning_text", text: "secret" }],
      },
      { kind: "reasoning", id: "r", summary: ["s"], rawContent: ["secret"] },
    ],
    [
      { type: "web_search_call", id: "w", action: { type: "search", query: "rust" } },
      { kind: "webSearch", id: "w", query: "rust", action: { type: "search", query: "rust" } },
    ],
    [
      { type: "web_search_call", id: "w", action: { type: "open_page", url: "http://x" } },
      { kind: "webSearch", id: "w", query: "http://x", action: { type: "open_page", url: "http://x" } },
    ],
    [
      { type: "web_search_call", id: "w" },
      { kind: "webSearch", id: "w", query: "", action: { type: "other" } },
    ],
    [{ type: "function_call", name: "f", arguments: "{}", call_id: "c" }, undefined],
    [{ type: "hologram", id: "h" }, undefined],
  ])("%j", (raw, item) => {
    expect(shownItem(raw, { showRawReasoning: false })).toEqual(item);
  });

  it("has the whole raw reasoning if configured", () => {
    const raw = { type: "reasoning", id: "r", summary: [], content: [{ type: "reasoning_text", text: "raw" }] };
    expect(shownItem(raw, { showRawReasoning: true })).toEqual({
      kind: "reasoning",
      id: "r",
      summary: [],
      rawContent: ["raw"],
      rawShown: true,
    });
  });
});

describe("a call in an item", () => {
  it.each<[RawItem, ReturnType<typeof toolCallOf>]>([
    [
      { type: "function_call", name: "f", arguments: "{}", call_id: "c" },
      { callId: "c", name: "f", args: "{}", outputType: "function_call_output" },
    ],
    [
      { type: "custom_tool_call", name: "apply_patch", input: "*** Begin", call_id: "c" },
      { callId: "c", name: "apply_patch", args: "*** Begin", outputType: "custom_tool_call_output" },
    ],
    [
      { type: "local_shell_call", call_id: "c", action: { type: "exec", command: ["ls"] } },
      { callId: "c", name: "local_shell", args: '{"type":"exec","command":["ls"]}', outputType: "function_call_output" },
    ],
    [
      { type: "local_shell_call", id: "l", action: { type: "exec", command: ["ls"] } },
      { callId: "l", name: "local_shell", args: '{"type":"exec","command":["ls"]}', outputType: "function_call_output" },
    ],
    [
      { type: "local_shell_call", call_id: "c", action: { type: "exec", command: ["ls"], working_directory: "/x", timeout_ms: 5 } },
      {
        callId: "c",
        name: "local_shell",
        args: '{"type":"exec","command":["ls"],"timeout_ms":5,"workdir":"/x"}',
        outputType: "function_call_output",
      },
    ],
    [
      { type: "function_call", name: 5 },
      { callId: "", name: "", args: "", outputType: "function_call_output" },
    ],
    [{ type: "message", role: "assistant", call_id: "c" }, undefined],
    [{ type: "web_search_call", id: "w" }, undefined],
  ])("%j", (raw, call) => {
    expect(toolCallOf(raw)).toEqual(call);
  });

  it("is answered by an output of the same kind", () => {
    expect(toolOutput({ callId: "c", name: "f", args: "", outputType: "custom_tool_call_output" }, "done")).toEqual({
      type: "custom_tool_call_output",
      call_id: "c",
      output: "done",
    });
  });

  it("is unanswered until its output comes, even when an id is used twice", () => {
    const one = { type: "function_call", name: "f", arguments: "1", call_id: "1" };
    const two = { type: "custom_tool_call", name: "g", input: "2", call_id: "2" };
    const output = { type: "function_call_output", call_id: "1", output: "" };
    const open = (...items: RawItem[]) => unansweredCalls(items).map(({ callId, outputType }) => `${callId} ${outputType}`);
    expect(open(one, two)).toEqual(["1 function_call_output", "2 custom_tool_call_output"]);
    expect(open(one, two, output)).toEqual(["2 custom_tool_call_output"]);
    expect(open(one, output, one)).toEqual(["1 function_call_output"]);
    expect(open(one, output)).toEqual([]);
  });
});

const IMAGE: RawItem = {
  type: "message",
  role: "user",
  content: [
    { type: "input_text", text: "what is this?" },
    { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=" },
  ],
};

describe("a conversation as the model sees it", () => {
  it("is empty, then one item, then more, always valid inside brackets", () => {
    const history = new History([]);
    expect(history.inputText).toBe("");
    history.append([message("user", "one")]);
    history.append([]);
    history.append([message("developer", "two"), IMAGE]);
    const items = [message("user", "one"), message("developer", "two"), IMAGE];
    expect([history.inputText, history.items()]).toEqual([items.map((item) => JSON.stringify(item)).join(","), items]);
  });

  it("keeps items as they came, images, escapes and unknown kinds included", () => {
    const items: RawItem[] = [
      IMAGE,
      { type: "function_call_output", call_id: "c", output: [{ type: "input_image", image_url: "data:," }] },
      { type: "hologram", id: "h_1", layers: [null, 1.5, { deep: '\u2028"\\\n👩‍💻' }] },
      { type: "compaction", encrypted_content: "opaque" },
    ];
    expect(new History(items).items()).toEqual(items);
  });

  it.each(["message", "reasoning", "function_call", "custom_tool_call", "local_shell_call", "web_search_call"])(
    "leaves out the id of a %s, which names something the provider did not store",
    (type) => {
      const item = { type, id: "x_1", status: "completed", encrypted_content: "opaque" };
      expect(new History([item]).items()).toEqual([{ type, status: "completed", encrypted_content: "opaque" }]);
      expect(item.id).toBe("x_1");
    },
  );

  it("is sent as Codex 0.92.0 sent it: outputs cut once more, empty fields named", () => {
    const output = (text: string): RawItem => ({ type: "function_call_output", call_id: "c", output: text });
    const recorded = { truncation: { unit: "bytes", limit: 100 }, readsText: false } as const;
    const long = new History([output("x".repeat(130))], recorded).items();
    expect(long).toEqual([output(`${"x".repeat(60)}…10 chars truncated…${"x".repeat(60)}`)]);
    expect(new History([{ type: "reasoning", summary: [] }], recorded).items()).toEqual([
      { type: "reasoning", summary: [], content: null, encrypted_content: null },
    ]);
  });

  it.for<readonly [isRewritten: boolean, call: RawItem]>([
    [true, { type: "function_call", name: "shell", arguments: "{}", call_id: "c" }],
    [true, { type: "function_call", name: "apply_patch", arguments: "{}", call_id: "c" }],
    [true, { type: "custom_tool_call", name: "apply_patch", input: "", call_id: "c" }],
    [true, { type: "local_shell_call", status: "completed", action: { type: "exec", command: [] }, call_id: "c" }],
    [false, { type: "function_call", name: "shell_command", arguments: "{}", call_id: "c" }],
    [false, { type: "function_call", name: "shell", arguments: "{}", call_id: "of another result" }],
  ])("as recorded, for a model that reads text, has the result rewritten: %s, of %o", ([isRewritten, call]) => {
    const result = '{"output":"hi\\n","metadata":{"exit_code":0,"duration_seconds":0.1}}';
    const output = (text: string): RawItem => ({ type: "function_call_output", call_id: "c", output: text });
    const recorded = { truncation: { unit: "bytes", limit: 100 }, readsText: true } as const;
    const text = "Exit code: 0\nWall time: 0.1 seconds\nOutput:\nhi\n";
    expect(new History([call, output(result)], recorded).items().at(-1)).toEqual(output(isRewritten ? text : result));
    expect(new History([call, output(result)], { ...recorded, readsText: false }).items().at(-1)).toEqual(output(result));
  });

  it("as recorded, lacks what Codex 0.92.0 did not send back", () => {
    const recorded = { truncation: { unit: "bytes", limit: 100 }, readsText: false } as const;
    const system = { type: "message", role: "system", content: [{ type: "input_text", text: "s" }] };
    const items = [{ type: "other" }, { type: "ghost_snapshot", ghost_commit: { id: "a" } }, system, message("user", "hi")];
    expect(new History(items, recorded).items()).toEqual([message("user", "hi")]);
    expect(new History([system]).items()).toEqual([system]);
  });

  it("can be replaced as a whole", () => {
    const history = new History([message("user", "long ago")]);
    history.replace([message("user", "summary")]);
    history.append([message("user", "next")]);
    expect(history.items()).toEqual([message("user", "summary"), message("user", "next")]);
  });
});
