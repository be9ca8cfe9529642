import type { ParsedCommand } from "../../../exec/actions.js";
import { shellWords } from "../../../exec/safety/bash/quoting.js";
import type { Fields } from "../../../lib/fields.js";
import type { ThreadEvent } from "../../../threads/events.js";
import type { CommandCall, CommandOutcome } from "../../../threads/items.js";
import type { ItemKind } from "./itemKind.js";
import type { OpenItem } from "./openItems.js";
import { fieldsOf, listOf, numberOf, saidText, textOf } from "./read.js";

const REJECTED = "exec command rejected by user";
const UNFINISHED = { completed: "still running when the turn ended", interrupted: "command interrupted", failed: "command interrupted" };
const NOT_RUN = "the command did not run";

export const commandExecution: ItemKind = {
  start: (open, { settings }) => [{ type: "commandStarted", ...commandCall(open, settings.cwd) }],
  complete(open, { settings }) {
    const call = commandCall(open, settings.cwd);
    const outcome = outcomeOf(open.item);
    return [...unstreamed(open, outcome), { type: "commandEnded", ...call, ...outcome }];
  },
  unfinished: ({ item, text }, ending) => ({ ...item, unfinished: UNFINISHED[ending], aggregatedOutput: text }),
};

/** The words of a command that comes as one line. */
export function commandWords(line: string): readonly string[] {
  return shellWords(line) ?? [line];
}

export function parsedCommands(actions: unknown): ParsedCommand[] {
  return listOf(actions).map((action) => parsedCommand(fieldsOf(action)));
}

function commandCall({ id, item }: OpenItem, threadCwd: string): CommandCall {
  return {
    callId: id,
    command: commandWords(textOf(item["command"])),
    cwd: saidText(item["cwd"]) ?? threadCwd,
    parsed: parsedCommands(item["commandActions"]),
  };
}

function parsedCommand(action: Fields): ParsedCommand {
  const cmd = textOf(action["command"]);
  const path = saidText(action["path"]) ?? null;
  switch (action["type"]) {
    case "read":
      return { type: "read", cmd, name: textOf(action["name"]), path: path ?? "" };
    case "listFiles":
      return { type: "list_files", cmd, path };
    case "search":
      return { type: "search", cmd, query: saidText(action["query"]) ?? null, path };
    default:
      return { type: "unknown", cmd };
  }
}

/** The streams come merged: all of it counts as standard output. */
function outcomeOf(item: Fields): CommandOutcome {
  const output = textOf(item["aggregatedOutput"]);
  const exitCode = numberOf(item["exitCode"]) ?? -1;
  const durationMs = numberOf(item["durationMs"]) ?? 0;
  const stderr = complaintOf(item, output);
  const all = stderr === "" || output === "" ? output + stderr : `${output}\n${stderr}`;
  return { stdout: output, stderr, aggregatedOutput: all, formattedOutput: all, exitCode, durationMs };
}

/** Why there is no exit code, where there is none. */
function complaintOf(item: Fields, output: string): string {
  if (item["status"] === "declined") return REJECTED;
  const unfinished = saidText(item["unfinished"]);
  if (unfinished !== undefined) return unfinished;
  return numberOf(item["exitCode"]) === null && output === "" ? NOT_RUN : "";
}

/** A command that ends at once streams nothing; what it printed is then known only now. */
function unstreamed({ id, text }: OpenItem, { stdout }: CommandOutcome): ThreadEvent[] {
  if (text !== "" || stdout === "") return [];
  return [{ type: "commandOutput", callId: id, stream: "stdout", bytes: Buffer.from(stdout) }];
}
