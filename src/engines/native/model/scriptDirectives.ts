import { describe } from "../../../lib/errors.js";
import { LONGEST_DELAY_MS, wholeNumber } from "./scriptLines.js";
import { type CallContext, functionCall, type OutputItem, patchCall, shellCall } from "./scriptToolCalls.js";

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
  ["say", (rest) => text(withLineBreaks(rest))],
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
  ["item", item],
  ["status", status],
  ["drop", () => ({ kind: "cut" })],
  ["hang", () => ({ kind: "hang" })],
  ["fail", fail],
  ["incomplete", (rest) => ({ kind: "incomplete", reason: rest })],
  ["think", () => complaint("!think needs the text of the reasoning summary.")],
  ["delay", () => complaint(`!delay needs a number of milliseconds, at most ${LONGEST_DELAY_MS}.`)],
  // Holds the place of a second tool output; played only when that output never came.
  ["-", () => text("")],
]);

function text(words: string): Reply {
  return { kind: "text", deltas: words.match(/\S+\s*/g) ?? [words] };
}

function complaint(why: string): Reply {
  return text(`The script cannot be played: ${why}`);
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

function item(rest: string): Reply {
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
