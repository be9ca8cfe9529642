import path from "node:path";
import type { FileChanges } from "../../../exec/actions.js";
import { approvalWord } from "./commandQuestion.js";
import { fileChanges } from "./fileChangeItem.js";
import { LEAVES_SANDBOX, type Question } from "./question.js";
import { saidText, textOf } from "./read.js";

/** The request names an item and nothing of what it changes; that stands in the item. */
export const patchQuestion: Question = {
  read(params, { items, settings }) {
    const open = items.find(params["itemId"]);
    if (open?.item["type"] !== "fileChange") return { kind: "refuse", message: "the change to approve is not known here" };
    const root = saidText(params["grantRoot"]);
    const grant = root === undefined ? undefined : `it wants to write anywhere below ${root} for the rest of the session`;
    const reason = [saidText(params["reason"]), grant].filter((text) => text !== undefined).join("; ");
    const changes = fileChanges(open.item["changes"]);
    return {
      kind: "ask",
      subject: {
        kind: "patch",
        callId: textOf(params["itemId"]),
        ...(reason === "" ? {} : { reason }),
        ...LEAVES_SANDBOX,
        changes,
        ...outsideOf(changes, settings.cwd),
      },
    };
  },
  answer: (decision) => ({ decision: approvalWord(decision) }),
};

/** By their names; where links lead is Codex's to know. */
function outsideOf(changes: FileChanges, cwd: string): { readonly outside?: Record<string, string> } {
  const files = Object.entries(changes).flatMap(([file, change]) => [file, (change.type === "update" && change.move_path) || file]);
  const isOutside = (file: string) => /^\.\.(?:\/|$)/.test(path.relative(cwd, path.resolve(cwd, file)));
  const outside = files.filter(isOutside).map((file) => [file, file] as const);
  return outside.length > 0 ? { outside: Object.fromEntries(outside) } : {};
}
