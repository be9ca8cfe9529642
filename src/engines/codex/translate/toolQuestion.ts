import type { ApprovalDecision } from "../../../approvals/model.js";
import type { Fields } from "../../../lib/fields.js";
import { NEEDS_PERSON, type Question } from "./question.js";
import { fieldsOf, textOf } from "./read.js";

const SCHEMA = {
  type: "object",
  properties: {
    remember: {
      type: "string",
      title: "Allow it",
      description: "This call only, or every call of this tool until the thread is closed.",
      enum: ["once", "session"],
      default: "once",
    },
  },
};

/** Codex asks whether a tool of an MCP server may be called, in the form of a question of that server. */
export const toolQuestion: Question = {
  read(params) {
    const args = fieldsOf(fieldsOf(params["_meta"])["tool_params"]);
    const given = Object.keys(args).length === 0 ? "" : ` Arguments: ${JSON.stringify(args)}`;
    return {
      kind: "ask",
      subject: {
        kind: "form",
        callId: "",
        ...NEEDS_PERSON,
        server: textOf(params["serverName"]),
        message: `${textOf(params["message"])}${given}`,
        requestedSchema: SCHEMA,
      },
    };
  },
  answer(decision) {
    const action = actionOf(decision);
    return { action, content: action === "accept" ? {} : null, _meta: isForSession(decision) ? { persist: "session" } : null };
  },
};

export function asksAboutTool(params: Fields): boolean {
  return fieldsOf(params["_meta"])["codex_approval_kind"] === "mcp_tool_call";
}

function actionOf({ kind }: ApprovalDecision): "accept" | "decline" | "cancel" {
  switch (kind) {
    case "approved":
    case "approvedForSession":
    case "answered":
      return "accept";
    case "abort":
      return "cancel";
    case "approvedPrefix":
    case "denied":
      return "decline";
  }
}

/** Codex also offers to remember it for good, in the user's config.toml; that is the user's to write. */
function isForSession(decision: ApprovalDecision): boolean {
  return decision.kind === "approvedForSession" || (decision.kind === "answered" && decision.content["remember"] === "session");
}
