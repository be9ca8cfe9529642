export interface ScriptInputItem {
  readonly type?: string;
  readonly role?: string;
  readonly content?: unknown;
}

/** What to answer next. */
export interface CurrentLine {
  readonly line: string;
  /** The reasoning summary that precedes every answer of this script. */
  readonly think: string | undefined;
  readonly delayMs: number;
}

export const LONGEST_DELAY_MS = 3_600_000;

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
export function wholeNumber(text: string, limit: { readonly atLeast?: number; readonly atMost: number }): number | undefined {
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
