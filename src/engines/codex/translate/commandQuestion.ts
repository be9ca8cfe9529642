import type { ApprovalDecision } from "../../../approvals/model.js";
import type { Fields } from "../../../lib/fields.js";
import { commandWords, parsedCommands } from "./commandItem.js";
import type { OpenItem } from "./openItems.js";
import { permissionsInWords } from "./permissions.js";
import { LEAVES_SANDBOX, type Question, type QuestionContext, type ServerReaction } from "./question.js";
import { fieldsOf, saidText, textOf, textsOf } from "./read.js";

export const commandQuestion: Question = {
  read(params, { items, settings }: QuestionContext): ServerReaction {
    const about = { ...fieldsOf(items.find(params["itemId"])?.item), ...said(params) };
    const line = textOf(about["command"]);
    const prefix = textsOf(params["proposedExecpolicyAmendment"]);
    const reason = reasonOf(params);
    return {
      kind: "ask",
      subject: {
        kind: "command",
        callId: textOf(params["itemId"]),
        ...(reason === undefined ? {} : { reason }),
        ...LEAVES_SANDBOX,
        command: commandWords(line),
        commandText: line,
        cwd: saidText(about["cwd"]) ?? settings.cwd,
        parsed: parsedCommands(about["commandActions"]),
        ...(prefix.length === 0 ? {} : { proposedPrefix: prefix }),
      },
    };
  },
  answer: (decision) => ({ decision: approvalWord(decision) }),
};

/**
 * A prefix is allowed no further than this command for this session: Codex would write it into the user's rules, for good and for
 * every program that reads them.
 */
export function approvalWord({ kind }: ApprovalDecision): string {
  switch (kind) {
    case "approved":
      return "accept";
    case "approvedForSession":
    case "approvedPrefix":
      return "acceptForSession";
    case "abort":
      return "cancel";
    case "denied":
    case "answered":
      return "decline";
  }
}

/** What the request itself says wins over what the item said. */
function said(params: Fields): OpenItem["item"] {
  return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null && value !== undefined));
}

function reasonOf(params: Fields): string | undefined {
  const { host, protocol } = fieldsOf(params["networkApprovalContext"]);
  const network = saidText(host) === undefined ? undefined : `it wants to reach ${textOf(host)} (${textOf(protocol)})`;
  const permissions = permissionsInWords(params["additionalPermissions"]);
  const reasons = [saidText(params["reason"]), network, permissions && `it wants to ${permissions}`];
  return reasons.filter((reason) => reason !== undefined).join("; ") || undefined;
}
