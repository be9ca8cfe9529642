import { describe, expect, it } from "vitest";
import { settingsIn } from "../../test/support/threads/rollouts.js";
import type { ApprovalId } from "../approvals/model.js";
import type { FileChanges } from "../exec/actions.js";
import { threadIdOf, turnIdOf } from "../lib/ids.js";
import type { ThreadEvent } from "../threads/events.js";
import type { CommandCall, Item, RawItem } from "../threads/items.js";
import { eventMsgs } from "./eventMsg.js";

const THREAD = threadIdOf("01a1dd1a-6d22-73e1-88aa-ccf523ae5caa");
const WHERE = { threadId: THREAD, turnId: turnIdOf("2") };

const USAGE = { input_tokens: 10, cached_input_tokens: 0, output_tokens: 5, reasoning_output_tokens: 0, total_tokens: 15 };
const NO_LIMITS = { primary: null, secondary: null, credits: null, plan_type: null };

/** Compared as text, because the order of keys must be Codex's too. */
function shown(event: ThreadEvent): string[] {
  return eventMsgs(event, WHERE).map((msg) => JSON.stringify(msg));
}

type Pin<Type extends ThreadEvent["type"]> = { readonly event: Extract<ThreadEvent, { type: Type }>; readonly msgs: readonly string[] };

const LS: CommandCall = {
  callId: "call_9",
  command: ["bash", "-lc", "ls src"],
  cwd: "/repo",
  parsed: [{ type: "list_files", cmd: "ls src", path: "src" }],
};
const ADDED: FileChanges = { "/repo/new.txt": { type: "add", content: "hi\n" } };
const INVOCATION = { server: "files", tool: "read", arguments: { path: "a" } };
const REQUEST = { id: "q1" as ApprovalId, threadId: THREAD, turnId: turnIdOf("2"), deadline: 0 };

/** Every kind of event, as Codex 0.92.0 shows it. */
const PINS: { readonly [Type in ThreadEvent["type"]]: readonly Pin<Type>[] } = {
  commandStarted: [
    {
      event: { type: "commandStarted", ...LS },
      msgs: [
        '{"type":"exec_command_begin","call_id":"call_9","turn_id":"2","command":["bash","-lc","ls src"],"cwd":"/repo","parsed_cmd":[{"type":"list_files","cmd":"ls src","path":"src"}],"source":"agent"}',
      ],
    },
  ],
  commandOutput: [
    {
      event: { type: "commandOutput", callId: "call_9", stream: "stdout", bytes: Buffer.from("a.ts\n") },
      msgs: ['{"type":"exec_command_output_delta","call_id":"call_9","stream":"stdout","chunk":"YS50cwo="}'],
    },
  ],
  commandResumed: [{ event: { type: "commandResumed", callId: "call_9" }, msgs: [] }],
  commandTyped: [
    {
      event: { type: "commandTyped", callId: "call_9", sessionId: 4711, typed: "ls\n" },
      msgs: ['{"type":"terminal_interaction","call_id":"call_9","process_id":"4711","stdin":"ls\\n"}'],
    },
  ],
  commandEnded: [
    {
      event: {
        type: "commandEnded",
        ...LS,
        stdout: "a.ts\n",
        stderr: "",
        aggregatedOutput: "a.ts\n",
        exitCode: 0,
        durationMs: 1008.5,
        formattedOutput: "a.ts\n",
      },
      msgs: [
        '{"type":"exec_command_end","call_id":"call_9","turn_id":"2","command":["bash","-lc","ls src"],"cwd":"/repo","parsed_cmd":[{"type":"list_files","cmd":"ls src","path":"src"}],"source":"agent","stdout":"a.ts\\n","stderr":"","aggregated_output":"a.ts\\n","exit_code":0,"duration":{"secs":1,"nanos":8500000},"formatted_output":"a.ts\\n"}',
      ],
    },
  ],
  patchStarted: [
    {
      event: { type: "patchStarted", callId: "call_2", autoApproved: true, changes: ADDED },
      msgs: [
        '{"type":"patch_apply_begin","call_id":"call_2","turn_id":"2","auto_approved":true,"changes":{"/repo/new.txt":{"type":"add","content":"hi\\n"}}}',
      ],
    },
  ],
  patchEnded: [
    {
      event: { type: "patchEnded", callId: "call_2", stdout: "", stderr: "patch rejected by user", success: false, changes: ADDED },
      msgs: [
        '{"type":"patch_apply_end","call_id":"call_2","turn_id":"2","stdout":"","stderr":"patch rejected by user","success":false,"changes":{"/repo/new.txt":{"type":"add","content":"hi\\n"}}}',
      ],
    },
  ],
  turnDiff: [{ event: { type: "turnDiff", unifiedDiff: "diff" }, msgs: ['{"type":"turn_diff","unified_diff":"diff"}'] }],
  imageViewed: [
    {
      event: { type: "imageViewed", callId: "call_3", path: "/repo/dot.png" },
      msgs: ['{"type":"view_image_tool_call","call_id":"call_3","path":"/repo/dot.png"}'],
    },
  ],
  mcpStartupUpdated: [
    {
      event: { type: "mcpStartupUpdated", server: "files", status: { state: "failed", error: "gone" } },
      msgs: ['{"type":"mcp_startup_update","server":"files","status":{"state":"failed","error":"gone"}}'],
    },
  ],
  mcpToolStarted: [
    {
      event: { type: "mcpToolStarted", callId: "call_4", invocation: INVOCATION },
      msgs: ['{"type":"mcp_tool_call_begin","call_id":"call_4","invocation":{"server":"files","tool":"read","arguments":{"path":"a"}}}'],
    },
  ],
  mcpToolEnded: [
    {
      event: { type: "mcpToolEnded", callId: "call_4", invocation: INVOCATION, durationMs: 2, result: { Err: "gone" } },
      msgs: [
        '{"type":"mcp_tool_call_end","call_id":"call_4","invocation":{"server":"files","tool":"read","arguments":{"path":"a"}},"duration":{"secs":0,"nanos":2000000},"result":{"Err":"gone"}}',
      ],
    },
  ],
  approvalRequested: [
    {
      event: {
        type: "approvalRequested",
        request: {
          ...REQUEST,
          subject: {
            kind: "command",
            callId: "call_9",
            command: LS.command,
            commandText: "bash -lc 'ls src'",
            cwd: LS.cwd,
            parsed: LS.parsed,
            reason: "why not",
            proposedPrefix: ["ls", "src"],
            staysInSandbox: true,
            needsPerson: false,
          },
        },
      },
      msgs: [
        '{"type":"exec_approval_request","call_id":"call_9","turn_id":"2","command":["bash","-lc","ls src"],"cwd":"/repo","reason":"why not","proposed_execpolicy_amendment":["ls","src"],"parsed_cmd":[{"type":"list_files","cmd":"ls src","path":"src"}]}',
      ],
    },
    {
      event: {
        type: "approvalRequested",
        request: { ...REQUEST, subject: { kind: "patch", callId: "call_2", changes: ADDED, staysInSandbox: true, needsPerson: false } },
      },
      msgs: [
        '{"type":"apply_patch_approval_request","call_id":"call_2","turn_id":"2","changes":{"/repo/new.txt":{"type":"add","content":"hi\\n"}}}',
      ],
    },
    {
      event: {
        type: "approvalRequested",
        request: {
          ...REQUEST,
          subject: {
            kind: "patch",
            callId: "call_3",
            changes: {},
            reason: "why not",
            grantRoot: "/out",
            staysInSandbox: false,
            needsPerson: false,
          },
        },
      },
      msgs: [
        '{"type":"apply_patch_approval_request","call_id":"call_3","turn_id":"2","changes":{},"reason":"why not","grant_root":"/out"}',
      ],
    },
  ],
  approvalDecided: [{ event: { type: "approvalDecided", id: REQUEST.id, decision: { kind: "approved" } }, msgs: [] }],
  threadConfigured: [
    {
      event: {
        type: "threadConfigured",
        threadId: THREAD,
        settings: settingsIn("/project", {
          reasoningEffort: "high",
          sandboxPolicy: { type: "workspace-write", network_access: true, exclude_tmpdir_env_var: false, exclude_slash_tmp: false },
        }),
        recordPath: "/home/rollout.jsonl",
      },
      msgs: [
        '{"type":"session_configured","session_id":"01a1dd1a-6d22-73e1-88aa-ccf523ae5caa","model":"gpt-6.1-sol","model_provider_id":"openai","approval_policy":"on-request","sandbox_policy":{"type":"workspace-write","network_access":true,"exclude_tmpdir_env_var":false,"exclude_slash_tmp":false},"cwd":"/project","reasoning_effort":"high","history_log_id":0,"history_entry_count":0,"rollout_path":"/home/rollout.jsonl"}',
      ],
    },
    {
      event: { type: "threadConfigured", threadId: THREAD, settings: settingsIn("/project"), recordPath: undefined },
      msgs: [
        '{"type":"session_configured","session_id":"01a1dd1a-6d22-73e1-88aa-ccf523ae5caa","model":"gpt-6.1-sol","model_provider_id":"openai","approval_policy":"on-request","sandbox_policy":{"type":"read-only"},"cwd":"/project","history_log_id":0,"history_entry_count":0}',
      ],
    },
  ],
  contextItem: [
    {
      event: { type: "contextItem", item: { type: "message", role: "developer", content: [{ type: "input_text", text: "be kind" }] } },
      msgs: [
        '{"type":"raw_response_item","item":{"type":"message","role":"developer","content":[{"type":"input_text","text":"be kind"}]}}',
      ],
    },
  ],
  deprecation: [
    {
      event: { type: "deprecation", summary: "old", details: "use new" },
      msgs: ['{"type":"deprecation_notice","summary":"old","details":"use new"}'],
    },
    { event: { type: "deprecation", summary: "old" }, msgs: ['{"type":"deprecation_notice","summary":"old"}'] },
  ],
  mcpStartupCompleted: [
    {
      event: { type: "mcpStartupCompleted", ready: ["a"], failed: [{ server: "b", error: "gone" }], cancelled: [] },
      msgs: ['{"type":"mcp_startup_complete","ready":["a"],"failed":[{"server":"b","error":"gone"}],"cancelled":[]}'],
    },
  ],
  turnStarted: [
    { event: { type: "turnStarted", contextWindow: 258_400 }, msgs: ['{"type":"task_started","model_context_window":258400}'] },
    { event: { type: "turnStarted", contextWindow: null }, msgs: ['{"type":"task_started","model_context_window":null}'] },
  ],
  turnContext: [{ event: { type: "turnContext", settings: settingsIn("/project") }, msgs: [] }],
  rawItem: [
    {
      event: { type: "rawItem", item: { type: "function_call_output", id: "fco_1", call_id: "call_1", output: "done" } },
      msgs: ['{"type":"raw_response_item","item":{"type":"function_call_output","call_id":"call_1","output":"done"}}'],
    },
  ],
  unseenItem: [{ event: { type: "unseenItem", item: { type: "message", role: "user", content: [] } }, msgs: [] }],
  itemStarted: [
    {
      event: { type: "itemStarted", item: { kind: "userMessage", id: "u", text: "!say ok" } },
      msgs: [
        '{"type":"item_started","thread_id":"01a1dd1a-6d22-73e1-88aa-ccf523ae5caa","turn_id":"2","item":{"type":"UserMessage","id":"u","content":[{"type":"text","text":"!say ok","text_elements":[]}]}}',
      ],
    },
    {
      event: { type: "itemStarted", item: { kind: "agentMessage", id: "msg_2", texts: [] } },
      msgs: [
        '{"type":"item_started","thread_id":"01a1dd1a-6d22-73e1-88aa-ccf523ae5caa","turn_id":"2","item":{"type":"AgentMessage","id":"msg_2","content":[]}}',
      ],
    },
    {
      event: { type: "itemStarted", item: { kind: "reasoning", id: "rs_3", summary: [], rawContent: [] } },
      msgs: [
        '{"type":"item_started","thread_id":"01a1dd1a-6d22-73e1-88aa-ccf523ae5caa","turn_id":"2","item":{"type":"Reasoning","id":"rs_3","summary_text":[],"raw_content":[]}}',
      ],
    },
    {
      event: { type: "itemStarted", item: { kind: "webSearch", id: "ws_1", query: "", action: { type: "search", query: "" } } },
      msgs: [
        '{"type":"item_started","thread_id":"01a1dd1a-6d22-73e1-88aa-ccf523ae5caa","turn_id":"2","item":{"type":"WebSearch","id":"ws_1","query":"","action":{"type":"search","query":""}}}',
        '{"type":"web_search_begin","call_id":"ws_1"}',
      ],
    },
  ],
  itemCompleted: [
    {
      event: { type: "itemCompleted", item: { kind: "userMessage", id: "u", text: "!say ok" } },
      msgs: [
        '{"type":"item_completed","thread_id":"01a1dd1a-6d22-73e1-88aa-ccf523ae5caa","turn_id":"2","item":{"type":"UserMessage","id":"u","content":[{"type":"text","text":"!say ok","text_elements":[]}]}}',
        '{"type":"user_message","message":"!say ok","images":[],"local_images":[],"text_elements":[]}',
      ],
    },
    {
      event: { type: "itemCompleted", item: { kind: "agentMessage", id: "msg_2", texts: ["one", "two"] } },
      msgs: [
        '{"type":"item_completed","thread_id":"01a1dd1a-6d22-73e1-88aa-ccf523ae5caa","turn_id":"2","item":{"type":"AgentMessage","id":"msg_2","content":[{"type":"Text","text":"one"},{"type":"Text","text":"two"}]}}',
        '{"type":"agent_message","message":"one"}',
        '{"type":"agent_message","message":"two"}',
      ],
    },
    {
      event: { type: "itemCompleted", item: { kind: "reasoning", id: "rs_3", summary: ["why"], rawContent: ["because"], rawShown: true } },
      msgs: [
        '{"type":"item_completed","thread_id":"01a1dd1a-6d22-73e1-88aa-ccf523ae5caa","turn_id":"2","item":{"type":"Reasoning","id":"rs_3","summary_text":["why"],"raw_content":["because"]}}',
        '{"type":"agent_reasoning","text":"why"}',
        '{"type":"agent_reasoning_raw_content","text":"because"}',
      ],
    },
    {
      event: { type: "itemCompleted", item: { kind: "webSearch", id: "ws_1", query: "tea", action: { type: "search", query: "tea" } } },
      msgs: [
        '{"type":"item_completed","thread_id":"01a1dd1a-6d22-73e1-88aa-ccf523ae5caa","turn_id":"2","item":{"type":"WebSearch","id":"ws_1","query":"tea","action":{"type":"search","query":"tea"}}}',
        '{"type":"web_search_end","call_id":"ws_1","query":"tea","action":{"type":"search","query":"tea"}}',
      ],
    },
  ],
  messageDelta: [
    {
      event: { type: "messageDelta", itemId: "msg_2", delta: "ok" },
      msgs: [
        '{"type":"agent_message_content_delta","thread_id":"01a1dd1a-6d22-73e1-88aa-ccf523ae5caa","turn_id":"2","item_id":"msg_2","delta":"ok"}',
        '{"type":"agent_message_delta","delta":"ok"}',
      ],
    },
  ],
  reasoningDelta: [
    {
      event: { type: "reasoningDelta", itemId: "rs_3", summaryIndex: 0, delta: "**Weighing " },
      msgs: [
        '{"type":"reasoning_content_delta","thread_id":"01a1dd1a-6d22-73e1-88aa-ccf523ae5caa","turn_id":"2","item_id":"rs_3","delta":"**Weighing ","summary_index":0}',
        '{"type":"agent_reasoning_delta","delta":"**Weighing "}',
      ],
    },
  ],
  rawReasoningDelta: [
    {
      event: { type: "rawReasoningDelta", itemId: "rs_3", contentIndex: 1, delta: "hm" },
      msgs: [
        '{"type":"reasoning_raw_content_delta","thread_id":"01a1dd1a-6d22-73e1-88aa-ccf523ae5caa","turn_id":"2","item_id":"rs_3","delta":"hm","content_index":1}',
        '{"type":"agent_reasoning_raw_content_delta","delta":"hm"}',
      ],
    },
  ],
  reasoningSectionBreak: [
    {
      event: { type: "reasoningSectionBreak", itemId: "rs_3", summaryIndex: 0 },
      msgs: ['{"type":"agent_reasoning_section_break","item_id":"rs_3","summary_index":0}'],
    },
  ],
  tokenCount: [
    {
      event: { type: "tokenCount", usage: null, rateLimits: NO_LIMITS },
      msgs: ['{"type":"token_count","info":null,"rate_limits":{"primary":null,"secondary":null,"credits":null,"plan_type":null}}'],
    },
    {
      event: {
        type: "tokenCount",
        usage: { total_token_usage: USAGE, last_token_usage: USAGE, model_context_window: null },
        rateLimits: NO_LIMITS,
      },
      msgs: [
        '{"type":"token_count","info":{"total_token_usage":{"input_tokens":10,"cached_input_tokens":0,"output_tokens":5,"reasoning_output_tokens":0,"total_tokens":15},"last_token_usage":{"input_tokens":10,"cached_input_tokens":0,"output_tokens":5,"reasoning_output_tokens":0,"total_tokens":15},"model_context_window":null},"rate_limits":{"primary":null,"secondary":null,"credits":null,"plan_type":null}}',
      ],
    },
  ],
  planUpdated: [
    {
      event: { type: "planUpdated", explanation: null, plan: [{ step: "a", status: "in_progress" }] },
      msgs: ['{"type":"plan_update","explanation":null,"plan":[{"step":"a","status":"in_progress"}]}'],
    },
  ],
  historyCompacted: [{ event: { type: "historyCompacted", message: "summary", replacement: [] }, msgs: ['{"type":"context_compacted"}'] }],
  reviewStarted: [
    {
      event: { type: "reviewStarted", target: { type: "baseBranch", branch: "main" }, hint: "changes against main" },
      msgs: ['{"type":"entered_review_mode","target":{"type":"baseBranch","branch":"main"},"user_facing_hint":"changes against main"}'],
    },
  ],
  reviewEnded: [
    {
      event: { type: "reviewEnded", text: "Looks fine." },
      msgs: [
        '{"type":"exited_review_mode","review_output":{"findings":[],"overall_correctness":"","overall_explanation":"Looks fine.","overall_confidence_score":0}}',
      ],
    },
    { event: { type: "reviewEnded", text: null }, msgs: ['{"type":"exited_review_mode","review_output":null}'] },
  ],
  warning: [{ event: { type: "warning", message: "careful" }, msgs: ['{"type":"warning","message":"careful"}'] }],
  agentChanged: [
    {
      event: { type: "agentChanged", agentId: "a1", name: "helper", task: "count", status: "completed", result: "12", tokens: 5 },
      msgs: [],
    },
  ],
  backgroundNote: [
    { event: { type: "backgroundNote", message: "by the way" }, msgs: ['{"type":"background_event","message":"by the way"}'] },
  ],
  modelRetry: [
    {
      event: { type: "modelRetry", attempt: 1, limit: 2, cause: "stream disconnected" },
      msgs: [
        '{"type":"stream_error","message":"Reconnecting... 1/2","codex_error_info":{"response_stream_disconnected":{"http_status_code":null}},"additional_details":"stream disconnected"}',
      ],
    },
  ],
  turnCompleted: [
    { event: { type: "turnCompleted", lastMessage: "ok" }, msgs: ['{"type":"task_complete","last_agent_message":"ok"}'] },
    { event: { type: "turnCompleted", lastMessage: null }, msgs: ['{"type":"task_complete","last_agent_message":null}'] },
  ],
  turnFailed: [
    {
      event: { type: "turnFailed", message: "no", info: { response_too_many_failed_attempts: { http_status_code: 429 } } },
      msgs: ['{"type":"error","message":"no","codex_error_info":{"response_too_many_failed_attempts":{"http_status_code":429}}}'],
    },
  ],
  turnAborted: [{ event: { type: "turnAborted", reason: "interrupted" }, msgs: ['{"type":"turn_aborted","reason":"interrupted"}'] }],
};

const ALL_PINS = Object.values<readonly { readonly event: ThreadEvent; readonly msgs: readonly string[] }[]>(PINS).flat();

it.for(ALL_PINS.map(({ event, msgs }) => [event.type, event, msgs] as const))("%s has Codex's form", ([, event, msgs]) => {
  expect(shown(event)).toEqual(msgs);
});

describe("items of the model's conversation are shown with the fields Codex knows", () => {
  function shownItem(item: RawItem): unknown {
    const [msg] = shown({ type: "rawItem", item });
    return JSON.parse(msg ?? "null").item;
  }

  it.for([
    [
      "an answer, without its id, status and annotations",
      { type: "message", id: "m", role: "assistant", status: "completed", content: [{ type: "output_text", text: "ok", annotations: [] }] },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "ok" }] },
    ],
    [
      "a message with an image, which stays as it is",
      { type: "message", role: "user", content: [{ type: "input_image", image_url: "data:", detail: "high" }] },
      { type: "message", role: "user", content: [{ type: "input_image", image_url: "data:", detail: "high" }] },
    ],
    [
      "reasoning, with nothing for what is missing",
      { type: "reasoning", id: "rs", summary: [{ type: "summary_text", text: "why" }], encrypted_content: "opaque", status: "completed" },
      { type: "reasoning", summary: [{ type: "summary_text", text: "why" }], content: null, encrypted_content: "opaque" },
    ],
    ["empty reasoning", { type: "reasoning", id: "rs" }, { type: "reasoning", summary: [], content: null, encrypted_content: null }],
    [
      "a call",
      { type: "function_call", id: "fc", status: "completed", name: "shell", arguments: "{}", call_id: "call_1" },
      { type: "function_call", name: "shell", arguments: "{}", call_id: "call_1" },
    ],
    [
      "a custom call, with its status",
      { type: "custom_tool_call", id: "c", status: "completed", call_id: "call_1", name: "apply_patch", input: "x" },
      { type: "custom_tool_call", status: "completed", call_id: "call_1", name: "apply_patch", input: "x" },
    ],
    ["anything new, without its id", { type: "hologram", id: "h", depth: 3 }, { type: "hologram", depth: 3 }],
  ] as const satisfies [string, RawItem, RawItem][])("%s", ([, item, expected]) => {
    expect(shownItem(item)).toEqual(expected);
  });
});

it("an item's text is passed on unchanged", () => {
  const text = 'quotes " and \\ and \u2028 and 😀 and \ud800';
  const item: Item = { kind: "agentMessage", id: "m", texts: [text] };
  expect(eventMsgs({ type: "itemCompleted", item }, WHERE).at(-1)).toEqual({ type: "agent_message", message: text });
});
