import { describe } from "../../../lib/errors.js";
import {
  type CallContext,
  firstOffered,
  functionCall,
  type OutputItem,
  planCall,
  type ScriptInputItem,
  scriptedPatch,
  shellCall,
} from "./scriptedCalls.js";

/** What one line of a script makes the model respond. */
export type Reply =
  | { readonly kind: "text"; readonly deltas: readonly string[]; readonly gapMs?: number }
  | { readonly kind: "items"; readonly items: readonly OutputItem[] }
  | { readonly kind: "failed"; readonly code: string; readonly message: string }
  | { readonly kind: "incomplete"; readonly reason: string }
  | { readonly kind: "status"; readonly status: number; readonly body: string }
  | { readonly kind: "parts"; readonly parts: readonly Part[]; readonly breaksOff?: "cut" | "fail"; readonly tokens?: TokenCounts }
  | { readonly kind: "cut" }
  | { readonly kind: "hang" };

/** One of several parts of a response. */
export type Part =
  | { readonly item: OutputItem }
  /** `isCut`: the message is never completed. */
  | { readonly text: string; readonly isCut?: true }
  | { readonly reasoning: string };

/** The token usage that a response reports. */
export interface TokenCounts {
  readonly input: number;
  readonly output: number;
}

const MOST_DELTAS = 200_000;

/** An invalid line gets a response too: a message that says what is wrong with it. */
export function playDirective(line: string, context: CallContext): Reply {
  const [, word = "", rest = ""] = /^!(-|[a-z]+)\s?(.*)$/s.exec(line) ?? [];
  const play = DIRECTIVES.get(word);
  return play ? play(rest, context) : complaint(`!${word} is not a directive. The directives are: ${[...DIRECTIVES.keys()].join(", ")}.`);
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
  ["patch", (rest, context) => items(scriptedPatch(addFilePatch(withLineBreaks(rest)), context))],
  ["rawpatch", (rest, context) => items(scriptedPatch(withLineBreaks(rest), context))],
  ["mix", mix],
  ["messages", (rest) => ({ kind: "parts", parts: rest.split("||").map((text) => ({ text: text.trim() })) })],
  ["cut", (rest, context) => ({ kind: "parts", parts: [{ item: shellCall(rest, context) }], breaksOff: "cut" })],
  ["callfail", (rest, context) => ({ kind: "parts", parts: [{ item: shellCall(rest, context) }], breaksOff: "fail" })],
  ["partial", (rest) => ({ kind: "parts", parts: [{ text: withLineBreaks(rest), isCut: true }], breaksOff: "cut" })],
  ["rawthink", (rest) => ({ kind: "parts", parts: [{ reasoning: rest }, { text: "thought" }] })],
  ["usage", usage],
  ["plan", (rest, context) => items(planCall(planSteps(rest), context))],
  ["spawn", spawn],
  ["call", call],
  ["item", itemReply],
  ["status", status],
  ["drop", () => ({ kind: "cut" })],
  ["hang", () => ({ kind: "hang" })],
  ["fail", fail],
  ["incomplete", (rest) => ({ kind: "incomplete", reason: rest })],
  ["think", () => complaint("!think needs the text of the reasoning summary.")],
  ["delay", () => complaint(`!delay needs a number of milliseconds, at most ${LONGEST_DELAY_MS}.`)],
  // A placeholder for a second tool output; played only when that output never came.
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

/** Text and a command in the same response. */
function mix(rest: string, context: CallContext): Reply {
  const [text = "", command = ""] = rest.split("||").map((part) => part.trim());
  return { kind: "parts", parts: [{ text }, { item: shellCall(command, context) }] };
}

const MOST_TOKENS = 10_000_000;

function usage(rest: string): Reply {
  const [first = "", second = "", ...words] = rest.split(" ");
  const input = wholeNumber(first, { atMost: MOST_TOKENS });
  const output = wholeNumber(second, { atMost: MOST_TOKENS });
  if (input === undefined || output === undefined)
    return complaint("!usage needs the tokens of the request, those of the answer, and its words.");
  return { kind: "parts", parts: [{ text: withLineBreaks(words.join(" ")) }], tokens: { input, output } };
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

/** Starts another agent, whose script is the rest of the line: ` ;; ` separates its lines. */
function spawn(rest: string, context: CallContext): Reply {
  const [task_name, script] = splitWord(rest);
  const { namespace } = firstOffered(context.tools, ["spawn_agent"]) ?? {};
  if (script === "") return complaint("!spawn needs the name of a task and the script of the agent that does it.");
  if (namespace === undefined) return complaint("no tool is offered that begins another agent.");
  const message = script.replaceAll(" ;; ", "\n");
  const args = namespace === "collaboration" ? { task_name, message, fork_turns: "none" } : { message };
  return items(functionCall(`${namespace}.spawn_agent`, JSON.stringify(args), context));
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

/** The next response. */
interface CurrentLine {
  readonly line: string;
  /** The reasoning summary before every response of this script. */
  readonly think: string | undefined;
  readonly delayMs: number;
}

const LONGEST_DELAY_MS = 3_600_000;

const DIRECTIVE = /^!(-|[a-z]+)(\s|$)/;

/**
 * The script is the newest user message with directive lines; the tool outputs after it tell how far it has been played. `!delay` and
 * `!think` apply to the whole script and are not responses of their own.
 */
export function currentLine(input: readonly ScriptInputItem[]): CurrentLine {
  const { lines, answered } = findScript(input);
  const delay = settingIn(lines, "!delay ");
  const think = settingIn(lines, "!think ");
  const answers = lines.filter((line) => !line.startsWith("!delay ") && !line.startsWith("!think "));
  const delayMs = delay === undefined ? 0 : wholeNumber(delay, { atMost: LONGEST_DELAY_MS });
  // An invalid delay stays in the script, so that playing it reports the error.
  if (delayMs === undefined) return { line: `!delay ${delay}`, think, delayMs: 0 };
  return { line: answers[answered] ?? "!say done", think, delayMs };
}

function settingIn(lines: readonly string[], start: string): string | undefined {
  return lines.find((line) => line.startsWith(start))?.slice(start.length);
}

/** A number in a script: digits only, within its limit. */
function wholeNumber(text: string, limit: { readonly atLeast?: number; readonly atMost: number }): number | undefined {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return value >= (limit.atLeast ?? 0) && value <= limit.atMost ? value : undefined;
}

function findScript(input: readonly ScriptInputItem[]): { lines: string[]; answered: number } {
  let answered = 0;
  for (const item of input.toReversed()) {
    if (item.type?.endsWith("_output")) answered++;
    // A message between agents has no role.
    if (item.role !== "user" && item.type !== "agent_message") continue;
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
  return content.map(textOfPart).join("\n");
}

/** A task for another agent is normally unreadable to all but the model; the scripted model writes it in plain text. */
function textOfPart(part: unknown): string {
  if (typeof part !== "object" || part === null) return "";
  if ("text" in part && typeof part.text === "string") return part.text;
  return "encrypted_content" in part && typeof part.encrypted_content === "string" ? part.encrypted_content : "";
}
