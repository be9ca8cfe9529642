import { describe } from "../../../lib/errors.js";

/** What one line of a script makes the model answer. */
export type Reply =
  | { readonly kind: "text"; readonly deltas: readonly string[]; readonly gapMs?: number }
  | { readonly kind: "items"; readonly items: readonly OutputItem[] }
  | { readonly kind: "failed"; readonly code: string; readonly message: string }
  | { readonly kind: "incomplete"; readonly reason: string }
  | { readonly kind: "status"; readonly status: number; readonly body: string }
  | { readonly kind: "cut" }
  | { readonly kind: "hang" };

const MOST_DELTAS = 200_000;

/** A line that cannot be played is answered too: with a message that says what is wrong with it. */
export function playDirective(line: string, context: CallContext): Reply {
  const [, word = "", rest = ""] = /^!(-|[a-z]+)\s?(.*)$/s.exec(line) ?? [];
  const play = DIRECTIVES.get(word);
  return play ? play(rest, context) : complaint(`!${word} is no directive. Known are: ${[...DIRECTIVES.keys()].join(", ")}.`);
}

type Play = (rest: string, context: CallContext) => Reply;

const DIRECTIVES: ReadonlyMap<string, Play> = new Map<string, Play>([
  ["say", (rest) => textReply(withLineBreaks(rest))],
  ["tokens", tokens],
  ["slow", slow],
  ["empty", () => items()],
  ["shell", (rest, context) => items(shellCall(rest, context))],
  ["escalate", (rest, context) => items(shellCall(rest, context, { escalated: true }))],
  ["both", (rest, context) => items(...rest.split("||").map((command) => shellCall(command.trim(), context)))],
  ["patch", (rest, context) => items(patchCall(addFilePatch(withLineBreaks(rest)), context))],
  ["rawpatch", (rest, context) => items(patchCall(withLineBreaks(rest), context))],
  ["plan", (rest, context) => items(functionCall("update_plan", JSON.stringify({ plan: planSteps(rest) }), context))],
  ["call", call],
  ["item", itemReply],
  ["status", status],
  ["drop", () => ({ kind: "cut" })],
  ["hang", () => ({ kind: "hang" })],
  ["fail", fail],
  ["incomplete", (rest) => ({ kind: "incomplete", reason: rest })],
  ["think", () => complaint("!think needs the text of the reasoning summary.")],
  ["delay", () => complaint(`!delay needs a number of milliseconds, at most ${LONGEST_DELAY_MS}.`)],
  // Holds the place of a second tool output; played only when that output never came.
  ["-", () => textReply("")],
]);

function textReply(words: string): Reply {
  return { kind: "text", deltas: words.match(/\S+\s*/g) ?? [words] };
}

function complaint(why: string): Reply {
  return textReply(`The script cannot be played: ${why}`);
}

function items(...output: OutputItem[]): Reply {
  return { kind: "items", items: output };
}

function tokens(rest: string): Reply {
  const count = wholeNumber(rest, { atMost: MOST_DELTAS });
  if (count === undefined) return complaint(`!tokens needs a number of deltas, at most ${MOST_DELTAS}.`);
  return { kind: "text", deltas: numberedWords(count) };
}

function slow(rest: string): Reply {
  const [words = "", gap = ""] = rest.split(" ");
  const count = wholeNumber(words, { atMost: MOST_DELTAS });
  const gapMs = wholeNumber(gap, { atMost: LONGEST_DELAY_MS });
  if (count === undefined || gapMs === undefined) {
    return complaint(`!slow needs a number of deltas, at most ${MOST_DELTAS}, and the milliseconds between them.`);
  }
  return { kind: "text", deltas: numberedWords(count), gapMs };
}

function numberedWords(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `w${index} `);
}

function addFilePatch(pathAndContent: string): string {
  const [path, ...words] = pathAndContent.split(" ");
  const added = words.join(" ").replaceAll(/^/gm, "+");
  return `*** Begin Patch\n*** Add File: ${path}\n${added}\n*** End Patch`;
}

function planSteps(rest: string): { step: string; status: string }[] {
  return rest.split("|").map((step, index) => ({ step, status: index === 0 ? "in_progress" : "pending" }));
}

function call(rest: string, context: CallContext): Reply {
  const [name, args] = splitWord(rest);
  if (name === "") return complaint("!call needs the name of a function.");
  return items(functionCall(name, args || "{}", context));
}

function itemReply(rest: string): Reply {
  try {
    const parsed: unknown = JSON.parse(rest);
    if (isOutputItem(parsed)) return items(parsed);
    return complaint("!item needs a JSON object with a type.");
  } catch (error) {
    return complaint(`!item needs valid JSON: ${describe(error)}`);
  }
}

function isOutputItem(value: unknown): value is OutputItem {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

function status(rest: string): Reply {
  const [word, given] = splitWord(rest);
  const code = wholeNumber(word, { atLeast: 300, atMost: 599 });
  if (code === undefined) return complaint("!status needs an HTTP status from 300 to 599.");
  const scripted = { error: { message: `scripted status ${code}`, type: "scripted", code: "scripted" } };
  return { kind: "status", status: code, body: given || JSON.stringify(scripted) };
}

function fail(rest: string): Reply {
  const [code, message] = splitWord(rest);
  return { kind: "failed", code, message };
}

function splitWord(rest: string): [first: string, after: string] {
  const [first = "", ...others] = rest.split(" ");
  return [first, others.join(" ")];
}

function withLineBreaks(rest: string): string {
  return rest.replaceAll("\\n", "\n");
}

export interface ScriptInputItem {
  readonly type?: string;
  readonly role?: string;
  readonly content?: unknown;
}

/** What to answer next. */
interface CurrentLine {
  readonly line: string;
  /** The reasoning summary that precedes every answer of this script. */
  readonly think: string | undefined;
  readonly delayMs: number;
}

const LONGEST_DELAY_MS = 3_600_000;

const DIRECTIVE = /^!(-|[a-z]+)(\s|$)/;

/**
 * The script is the newest user message with directive lines, and the tool outputs that followed it say how far it has been played.
 * `!delay` and `!think` hold for the whole script and are no answers of their own.
 */
export function currentLine(input: readonly ScriptInputItem[]): CurrentLine {
  const { lines, answered } = findScript(input);
  const delay = settingIn(lines, "!delay ");
  const think = settingIn(lines, "!think ");
  const answers = lines.filter((line) => !line.startsWith("!delay ") && !line.startsWith("!think "));
  const delayMs = delay === undefined ? 0 : wholeNumber(delay, { atMost: LONGEST_DELAY_MS });
  // A delay that is no number is left in the script, where playing it says what is wrong.
  if (delayMs === undefined) return { line: `!delay ${delay}`, think, delayMs: 0 };
  return { line: answers[answered] ?? "!say done", think, delayMs };
}

function settingIn(lines: readonly string[], start: string): string | undefined {
  return lines.find((line) => line.startsWith(start))?.slice(start.length);
}

/** A number as scripts write it: digits only, within its limit. */
function wholeNumber(text: string, limit: { readonly atLeast?: number; readonly atMost: number }): number | undefined {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return value >= (limit.atLeast ?? 0) && value <= limit.atMost ? value : undefined;
}

function findScript(input: readonly ScriptInputItem[]): { lines: string[]; answered: number } {
  let answered = 0;
  for (const item of input.toReversed()) {
    if (item.type?.endsWith("_output")) answered++;
    if (item.role !== "user") continue;
    const lines = directiveLines(textOf(item.content));
    if (lines.length > 0) return { lines, answered };
  }
  return { lines: ["!say hello"], answered: 0 };
}

function directiveLines(text: string): string[] {
  if (!text.includes("!")) return [];
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => DIRECTIVE.test(line));
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: unknown) => (hasText(part) ? part.text : "")).join("\n");
}

function hasText(part: unknown): part is { text: string } {
  return typeof part === "object" && part !== null && "text" in part && typeof part.text === "string";
}

/** A tool as a model request offers it. */
export interface OfferedTool {
  readonly type: string;
  readonly name?: string;
}

/** Where a call is made: the tools it may use, and the ids of the conversation. */
interface CallContext {
  readonly tools: readonly OfferedTool[];
  readonly newId: (prefix: string) => string;
}

export type OutputItem = { readonly type: string } & Readonly<Record<string, unknown>>;

function functionCall(name: string, args: string, { newId }: CallContext): OutputItem {
  return { type: "function_call", call_id: newId("call"), name, arguments: args };
}

const SHELL_TOOLS = ["exec_command", "shell_command", "shell", "local_shell"];

const ESCALATION = {
  sandbox_permissions: "require_escalated",
  with_escalated_permissions: true,
  justification: "the script asks for it",
};

/** Runs the command with whichever shell tool is offered; `escalated` asks to leave the sandbox. */
function shellCall(command: string, context: CallContext, options: { readonly escalated?: boolean } = {}): OutputItem {
  const tool = firstOffered(context.tools, SHELL_TOOLS);
  const extra = options.escalated ? ESCALATION : {};
  const argv = ["bash", "-lc", command];
  if (tool?.type === "local_shell") {
    const action = { type: "exec", command: argv, ...extra };
    return { type: "local_shell_call", call_id: context.newId("call"), status: "completed", action };
  }
  const name = tool?.name ?? "shell";
  return functionCall(name, JSON.stringify({ ...shellArguments(name, command, argv), ...extra }), context);
}

function shellArguments(name: string, command: string, argv: readonly string[]): object {
  if (name === "exec_command") return { cmd: command };
  if (name === "shell_command") return { command };
  return { command: argv };
}

/** Hands the patch to the apply_patch tool in the form it is offered, or to a shell where it is not. */
function patchCall(patch: string, context: CallContext): OutputItem {
  const tool = firstOffered(context.tools, ["apply_patch"]);
  if (tool?.type === "custom") return { type: "custom_tool_call", call_id: context.newId("call"), name: "apply_patch", input: patch };
  if (tool) return functionCall("apply_patch", JSON.stringify({ input: patch }), context);
  // The recordings count one id more for a patch that goes through the shell.
  context.newId("call");
  return shellCall(`apply_patch <<'PATCH'\n${patch}\nPATCH`, context);
}

function firstOffered(tools: readonly OfferedTool[], names: readonly string[]): OfferedTool | undefined {
  for (const name of names) {
    const tool = tools.find((candidate) => candidate.name === name || candidate.type === name);
    if (tool) return tool;
  }
  return undefined;
}
