import path from "node:path";
import type { FileChange, FileChanges } from "../../../exec/actions.js";
import type { Fields } from "../../../lib/fields.js";
import type { ThreadEvent } from "../../../threads/events.js";
import type { ItemKind } from "./itemKind.js";
import type { OpenItem } from "./openItems.js";
import { fieldsOf, listOf, saidText, textOf } from "./read.js";

const REJECTED = "patch rejected by user";
const INTERRUPTED = "patch interrupted";
const FAILED = "the patch could not be applied";

/** Whether it is asked about shows only in what follows its beginning, so the beginning is shown with that. */
export const fileChange: ItemKind = {
  start: () => [],
  complete(open, { settings }) {
    const changes = fileChanges(open.item["changes"]);
    return [...patchStarted(open, { autoApproved: true }), ...ending(open, changes, settings.cwd)];
  },
  unfinished: ({ item }) => ({ ...item, status: "interrupted" }),
};

/** Nothing when it was shown before. */
export function patchStarted(open: OpenItem, { autoApproved }: { readonly autoApproved: boolean }): ThreadEvent[] {
  if (open.isShown) return [];
  open.isShown = true;
  return [{ type: "patchStarted", callId: open.id, autoApproved, changes: fileChanges(open.item["changes"]) }];
}

export function fileChanges(list: unknown): FileChanges {
  return Object.fromEntries(
    listOf(list).map((entry) => {
      const change = fieldsOf(entry);
      return [textOf(change["path"]), changeOf(change)];
    }),
  );
}

function changeOf(change: Fields): FileChange {
  const kind = fieldsOf(change["kind"]);
  const text = textOf(change["diff"]);
  switch (kind["type"]) {
    case "add":
    case "delete":
      return { type: kind["type"], content: text };
    default:
      return updateOf(text, saidText(kind["move_path"]));
  }
}

/** Where a file moved to stands a second time behind its diff, in words. */
function updateOf(diff: string, movedTo: string | undefined): FileChange {
  if (movedTo === undefined) return { type: "update", unified_diff: diff, move_path: null };
  const remark = `\n\nMoved to: ${movedTo}`;
  return { type: "update", unified_diff: diff.endsWith(remark) ? diff.slice(0, -remark.length) : diff, move_path: movedTo };
}

function ending({ id, item }: OpenItem, changes: FileChanges, cwd: string): ThreadEvent[] {
  if (item["status"] !== "completed")
    return [{ type: "patchEnded", callId: id, stdout: "", stderr: complaintOf(item), success: false, changes }];
  const stdout = summary(changes, cwd);
  return [
    { type: "commandOutput", callId: id, stream: "stdout", bytes: Buffer.from(stdout) },
    { type: "patchEnded", callId: id, stdout, stderr: "", success: true, changes },
  ];
}

function complaintOf(item: Fields): string {
  if (item["status"] === "declined") return REJECTED;
  return item["status"] === "interrupted" ? INTERRUPTED : FAILED;
}

const LETTERS = { add: "A", update: "M", delete: "D" } as const;

/** What applying the patch printed; the app-server keeps it to itself. */
function summary(changes: FileChanges, cwd: string): string {
  const lines = Object.entries(changes).map(([file, change]) => {
    const written = change.type === "update" ? (change.move_path ?? file) : file;
    return { type: change.type, line: `${LETTERS[change.type]} ${fromWorkspace(written, cwd)}\n` };
  });
  const ofType = (type: FileChange["type"]) => lines.filter((entry) => entry.type === type).map(({ line }) => line);
  return ["Success. Updated the following files:\n", ...ofType("add"), ...ofType("update"), ...ofType("delete")].join("");
}

function fromWorkspace(file: string, cwd: string): string {
  const relative = path.relative(cwd, file);
  return relative === "" || relative.startsWith("..") || path.isAbsolute(relative) ? file : relative;
}
