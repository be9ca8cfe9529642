import path from "node:path";
import type { FileChange, FileChanges, ParsedCommand } from "../../../exec/actions.js";
import { shellWords } from "../../../exec/safety/bash/words.js";
import type { Fields } from "../../../lib/fields.js";
import type { ThreadEvent } from "../../../threads/events.js";
import type { CommandCall, CommandOutcome } from "../../../threads/items.js";
import { asFields, asList, asNumber, asText, nonEmptyText } from "../appServer/read.js";
import type { ItemKind, OpenItem, OpenItems } from "./turnState.js";

const COMMAND_REJECTED = "exec command rejected by user";
const UNFINISHED = { completed: "still running when the turn ended", interrupted: "command interrupted", failed: "command interrupted" };
const COMMAND_NOT_RUN = "the command did not run";
/** Codex's whole output for a command that it could not start, for example in a missing folder. */
const NOT_CREATED = /^Failed to create unified exec process: [^\n]*$/;

export const commandExecution: ItemKind = {
  start: (open, { settings }) => [{ type: "commandStarted", ...commandCall(open, settings.cwd) }],
  complete(open, { settings }) {
    const call = commandCall(open, settings.cwd);
    const outcome = outcomeOf(open.item);
    return [...unstreamedOutput(open, outcome), { type: "commandEnded", ...call, ...outcome }];
  },
  unfinished: ({ item, text }, ending) => ({ ...item, unfinished: UNFINISHED[ending], aggregatedOutput: text }),
};

/** The words of a command given as one line. */
export function commandWords(line: string): readonly string[] {
  return shellWords(line) ?? [line];
}

export function parsedCommands(actions: unknown): ParsedCommand[] {
  return asList(actions).map((action) => parsedCommand(asFields(action)));
}

function commandCall({ id, item }: OpenItem, threadCwd: string): CommandCall {
  return {
    callId: id,
    command: commandWords(asText(item["command"])),
    cwd: nonEmptyText(item["cwd"]) ?? threadCwd,
    parsed: parsedCommands(item["commandActions"]),
  };
}

function parsedCommand(action: Fields): ParsedCommand {
  const cmd = asText(action["command"]);
  const place = nonEmptyText(action["path"]) ?? null;
  switch (action["type"]) {
    case "read":
      return { type: "read", cmd, name: asText(action["name"]), path: place ?? "" };
    case "listFiles":
      return { type: "list_files", cmd, path: place };
    case "search":
      return { type: "search", cmd, query: nonEmptyText(action["query"]) ?? null, path: place };
    default:
      return { type: "unknown", cmd };
  }
}

/** The streams arrive merged: everything counts as standard output. */
function outcomeOf(item: Fields): CommandOutcome {
  const output = asText(item["aggregatedOutput"]);
  const exitCode = asNumber(item["exitCode"]) ?? -1;
  const durationMs = asNumber(item["durationMs"]) ?? 0;
  const stderr = commandComplaint(item, output);
  const all = stderr === "" || output === "" ? output + stderr : `${output}\n${stderr}`;
  return {
    stdout: output,
    stderr,
    aggregatedOutput: all,
    formattedOutput: all,
    exitCode,
    durationMs,
    ...(item["status"] === "declined" && { declined: true }),
    ...(item["unfinished"] === UNFINISHED.completed && { stillRuns: true }),
    ...(item["unfinished"] === UNFINISHED.interrupted && { cutOff: true }),
    ...((stderr === COMMAND_NOT_RUN || (exitCode < 0 && NOT_CREATED.test(output))) && { neverStarted: true }),
  };
}

/** The reason for a missing exit code. */
function commandComplaint(item: Fields, output: string): string {
  if (item["status"] === "declined") return COMMAND_REJECTED;
  const unfinished = nonEmptyText(item["unfinished"]);
  if (unfinished !== undefined) return unfinished;
  return asNumber(item["exitCode"]) === null && output === "" ? COMMAND_NOT_RUN : "";
}

/** A command that ends at once streams nothing; its output is only known at the end. */
function unstreamedOutput({ id, text }: OpenItem, { stdout }: CommandOutcome): ThreadEvent[] {
  if (text !== "" || stdout === "") return [];
  return [{ type: "commandOutput", callId: id, stream: "stdout", bytes: Buffer.from(stdout) }];
}

const PATCH_REJECTED = "patch rejected by user";
const PATCH_INTERRUPTED = "patch interrupted";
const PATCH_FAILED = "the patch could not be applied";

/** Whether a patch needs approval is only known from the message after its start, so the start is shown with that. */
export const fileChange: ItemKind = {
  start: () => [],
  complete(open, { settings }) {
    const changes = readChanges(open.item["changes"]);
    return [...patchStarted(open, { autoApproved: true }), ...patchEnding(open, changes, settings.cwd)];
  },
  unfinished: ({ item }) => ({ ...item, status: "interrupted" }),
};

/** Empty when it was shown before. */
function patchStarted(open: OpenItem, { autoApproved }: { readonly autoApproved: boolean }): ThreadEvent[] {
  if (open.isShown) return [];
  open.isShown = true;
  return [{ type: "patchStarted", callId: open.id, autoApproved, changes: readChanges(open.item["changes"]) }];
}

/** The events to show before a question about a patch. */
export function startOfAskedPatch(items: OpenItems, params: unknown): ThreadEvent[] {
  const open = items.find(asFields(params)["itemId"]);
  return open?.item["type"] === "fileChange" ? patchStarted(open, { autoApproved: false }) : [];
}

export function readChanges(list: unknown): FileChanges {
  return Object.fromEntries(
    asList(list).map((entry) => {
      const change = asFields(entry);
      return [asText(change["path"]), changeOf(change)];
    }),
  );
}

function changeOf(change: Fields): FileChange {
  const kind = asFields(change["kind"]);
  const text = asText(change["diff"]);
  switch (kind["type"]) {
    case "add":
    case "delete":
      return { type: kind["type"], content: text };
    default:
      return updateOf(text, nonEmptyText(kind["move_path"]));
  }
}

/** The target of a move is repeated in words after the diff. */
function updateOf(diff: string, movedTo: string | undefined): FileChange {
  if (movedTo === undefined) return { type: "update", unified_diff: diff, move_path: null };
  const remark = `\n\nMoved to: ${movedTo}`;
  return { type: "update", unified_diff: diff.endsWith(remark) ? diff.slice(0, -remark.length) : diff, move_path: movedTo };
}

function patchEnding({ id, item }: OpenItem, changes: FileChanges, cwd: string): ThreadEvent[] {
  if (item["status"] !== "completed")
    return [{ type: "patchEnded", callId: id, stdout: "", stderr: patchComplaint(item), success: false, changes }];
  const stdout = summary(changes, cwd);
  return [
    { type: "commandOutput", callId: id, stream: "stdout", bytes: Buffer.from(stdout) },
    { type: "patchEnded", callId: id, stdout, stderr: "", success: true, changes },
  ];
}

function patchComplaint(item: Fields): string {
  if (item["status"] === "declined") return PATCH_REJECTED;
  return item["status"] === "interrupted" ? PATCH_INTERRUPTED : PATCH_FAILED;
}

const LETTERS = { add: "A", update: "M", delete: "D" } as const;

/** The output of applying the patch, which the app-server does not report. */
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
