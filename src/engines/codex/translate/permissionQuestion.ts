import type { ApprovalDecision } from "../../../approvals/model.js";
import { permissionsInWords } from "./permissions.js";
import { NEEDS_PERSON, type Question } from "./question.js";
import { fieldsOf, saidText, textOf } from "./read.js";

const SCHEMA = {
  type: "object",
  properties: {
    scope: { type: "string", title: "Allow it", description: "For how long.", enum: ["turn", "session"], default: "turn" },
  },
};

/** The agent wants its sandbox widened. It gets what it asked for, or nothing. */
export const permissionQuestion: Question = {
  read(params, { settings }) {
    const wanted = permissionsInWords(params["permissions"]);
    if (wanted === undefined || settings.approvalPolicy === "never") return { kind: "answer", result: NOTHING };
    const reason = saidText(params["reason"]);
    return {
      kind: "ask",
      subject: {
        kind: "form",
        callId: textOf(params["itemId"]),
        ...(reason === undefined ? {} : { reason }),
        ...NEEDS_PERSON,
        widensSandbox: true,
        server: "codex",
        message: `The agent asks for more than its sandbox allows: ${wanted}${reason === undefined ? "" : ` (${reason})`}`,
        requestedSchema: SCHEMA,
      },
    };
  },
  answer(decision, { permissions }) {
    const scope = scopeOf(decision);
    if (scope === undefined) return NOTHING;
    const granted = Object.entries(fieldsOf(permissions)).filter(([, value]) => value !== null);
    return { permissions: Object.fromEntries(granted), scope };
  },
};

const NOTHING = { permissions: {}, scope: "turn" };

function scopeOf(decision: ApprovalDecision): "turn" | "session" | undefined {
  switch (decision.kind) {
    case "approved":
      return "turn";
    case "approvedForSession":
      return "session";
    case "answered":
      return decision.content["scope"] === "session" ? "session" : "turn";
    case "approvedPrefix":
    case "denied":
    case "abort":
      return undefined;
  }
}
