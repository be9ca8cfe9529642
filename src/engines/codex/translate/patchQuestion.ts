import { approvalWord } from "./commandQuestion.js";
import { fileChanges } from "./fileChangeItem.js";
import { LEAVES_SANDBOX, type Question } from "./question.js";
import { saidText, textOf } from "./read.js";

/** The request names an item and nothing of what it changes; that stands in the item. */
export const patchQuestion: Question = {
  read(params, { items }) {
    const open = items.find(params["itemId"]);
    if (open?.item["type"] !== "fileChange") return { kind: "refuse", message: "the change to approve is not known here" };
    const root = saidText(params["grantRoot"]);
    const grant = root === undefined ? undefined : `it wants to write anywhere below ${root} for the rest of the session`;
    const reason = [saidText(params["reason"]), grant].filter((text) => text !== undefined).join("; ");
    return {
      kind: "ask",
      subject: {
        kind: "patch",
        callId: textOf(params["itemId"]),
        ...(reason === "" ? {} : { reason }),
        ...LEAVES_SANDBOX,
        changes: fileChanges(open.item["changes"]),
      },
    };
  },
  answer: (decision) => ({ decision: approvalWord(decision) }),
};
