/** Texts that recur on our side of the differences. Call 2 is the first call of every scenario. */

export const CLEAN_EXIT = [{ exit: { code: 0, signal: null } }, { processesLeft: [] }];

export const TURN_BEGINS = ["task_started", "raw_response_item", "item_started", "item_completed", "user_message"];
export const FIRST_TURN_BEGINS = ["session_configured", "raw_response_item", "raw_response_item", ...TURN_BEGINS];
export const MESSAGE_STREAMS = ["item_started", "agent_message_content_delta", "agent_message_delta"];
export const WHOLE_MESSAGE = [...MESSAGE_STREAMS, "item_completed", "agent_message", "raw_response_item"];
export const WHOLE_REPLY = [...TURN_BEGINS, ...WHOLE_MESSAGE, "task_complete"];
export const COMMAND_BEGINS = [...FIRST_TURN_BEGINS, "raw_response_item", "exec_command_begin"];
export const COMMAND_ASKED = [...COMMAND_BEGINS, "exec_approval_request"];
export const COMMAND_REFUSED = [...COMMAND_ASKED, "exec_command_end", "raw_response_item"];
export const PATCH_ASKED = [
  ...FIRST_TURN_BEGINS,
  "raw_response_item",
  "raw_response_item",
  "patch_apply_begin",
  "apply_patch_approval_request",
];
export const PATCH_REFUSED = [...PATCH_ASKED, "patch_apply_end", "raw_response_item"];
export const PATCH_APPLIED = [
  ...PATCH_ASKED,
  "exec_command_output_delta",
  "patch_apply_end",
  "turn_diff",
  "raw_response_item",
  "turn_diff",
  ...WHOLE_MESSAGE,
  "turn_diff",
  "task_complete",
];

export function said(content: string): unknown[] {
  return [{ content: [{ text: content, type: "text" }], structuredContent: { threadId: "<id 1 of 2>", content } }];
}

export function interrupted(): unknown[] {
  const content = "The turn was interrupted before it ended. The thread can be continued with codex-reply.";
  return [{ content: [{ text: content, type: "text" }], structuredContent: { threadId: "<id 1 of 2>", content }, isError: true }];
}

export function files(content: Readonly<Record<string, string>>): unknown {
  return { files: content };
}

/** The model's result of a command that ran. */
export function outputForModel(output: string, { exitCode }: { readonly exitCode: number }): string {
  return JSON.stringify({ output, metadata: { exit_code: exitCode, duration_seconds: "<span>" } });
}

/** The end of a command that wrote on one stream only, as clients see it; the rest is as recorded. */
export function commandEnd(stderr: string): Record<string, unknown> {
  return { "0.stderr": stderr, "0.aggregated_output": stderr, "0.formatted_output": stderr };
}
