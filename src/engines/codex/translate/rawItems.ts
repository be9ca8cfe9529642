import path from "node:path";
import { isFields } from "../../../lib/fields.js";
import type { ThreadEvent } from "../../../threads/events.js";
import type { CommandCall, RawItem } from "../../../threads/items.js";
import { asText, nonEmptyText } from "../appServer/read.js";
import type { OpenToolCall, Translation, TurnState } from "./turnState.js";

/** The model's conversation as sent over the wire. A command without an item is shown with its output. */
export const rawItemCompleted: Translation = ({ item }, turn) => {
  const raw = rawItem(item);
  if (!raw) return [];
  const answered = turn.calls.takeAnswered(raw);
  turn.calls.add(raw);
  return [...(answered && !answered.isShown ? unseenCommand(answered, raw, turn) : []), { type: "rawItem", item: raw }];
};

/** Every call gets an output; a model would reject the history otherwise. */
export function answerCalls(turn: TurnState): ThreadEvent[] {
  return turn.calls.takeAll().map(({ callId, outputType }) => ({
    type: "rawItem",
    item: { type: outputType, call_id: callId, output: "aborted by user" },
  }));
}

function rawItem(value: unknown): RawItem | undefined {
  if (!isFields(value)) return undefined;
  const { type, internal_chat_message_metadata_passthrough: _, ...rest } = value;
  return typeof type === "string" && type !== DECLARATIONS ? { type, ...rest } : undefined;
}

/** Newer models receive their tools inside the conversation: tens of thousands of characters that are not messages. */
const DECLARATIONS = "additional_tools";

/** The lines above a command's output, in this order; there may be others between them. */
const HEADER = [/^Wall time: ([\d.]+) seconds$/, /^Process exited with code (-?\d+)$/, /^Output:$/] as const;
/** Twice as many as Codex writes. */
const MOST_HEADER_LINES = 12;

/** The numbers above the output, and the output itself; undefined for the output of other tools. */
function headedOutput(text: string): { readonly numbers: readonly number[]; readonly printed: string } | undefined {
  const numbers: number[] = [];
  let found = 0;
  let at = 0;
  for (const line of text.split("\n", MOST_HEADER_LINES)) {
    at += line.length + 1;
    const match = HEADER[found]?.exec(line);
    if (!match) continue;
    numbers.push(Number(match[1]));
    if (++found === HEADER.length) return at > text.length ? undefined : { numbers, printed: text.slice(at) };
  }
  return undefined;
}

/**
 * A sandboxed command that ends at once and seems to have been stopped by the sandbox has no item; only the model gets its output. Calls
 * that ran nothing (a refused patch, an error) were not shown by 0.92.0 either.
 */
function unseenCommand({ callId, call }: OpenToolCall, output: RawItem, { settings }: TurnState): ThreadEvent[] {
  const words = commandWords(call);
  const headed = headedOutput(asText(output["output"]));
  if (!words || !headed) return [];
  const { printed } = headed;
  const [seconds = 0, exitCode = 0] = headed.numbers;
  const command: CommandCall = {
    callId,
    command: words.argv,
    cwd: path.resolve(settings.cwd, words.workdir ?? ""),
    parsed: [{ type: "unknown", cmd: words.argv.at(-1) ?? "" }],
  };
  const outcome = { stdout: printed, stderr: "", aggregatedOutput: printed, formattedOutput: printed };
  return [
    { type: "commandStarted", ...command },
    ...(printed === "" ? [] : [{ type: "commandOutput" as const, callId, stream: "stdout" as const, bytes: Buffer.from(printed) }]),
    { type: "commandEnded", ...command, ...outcome, exitCode, durationMs: seconds * 1000 },
  ];
}

/** The command in a call of `exec_command`; undefined for any other call. */
function commandWords(call: RawItem): { readonly argv: readonly string[]; readonly workdir: string | undefined } | undefined {
  if (call["name"] !== "exec_command") return undefined;
  const { cmd, shell, login, workdir } = argumentsOf(call);
  const script = nonEmptyText(cmd);
  if (script === undefined) return undefined;
  return { argv: [nonEmptyText(shell) ?? "bash", login === false ? "-c" : "-lc", script], workdir: nonEmptyText(workdir) };
}

function argumentsOf(call: RawItem): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(asText(call["arguments"]));
    return isFields(parsed) ? parsed : {};
  } catch {
    return {};
  }
}
