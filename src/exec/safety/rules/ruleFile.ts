import { AppError } from "../../../lib/errors.js";
import { oneOf } from "../../../lib/fields.js";
import { shellWords } from "../bash/words.js";

/** From the least to the most strict. */
export const RULE_DECISIONS = ["allow", "prompt", "forbidden"] as const;
export type RuleDecision = (typeof RULE_DECISIONS)[number];

/** The user's decision about all commands that begin with certain words. */
export interface PrefixRule {
  /** For each leading word, the allowed alternatives. */
  readonly pattern: readonly (readonly string[])[];
  readonly decision: RuleDecision;
  readonly justification?: string;
}

/** The leading words of `argv` that the rule matches; undefined if it does not match. */
export function matchedPrefix({ pattern }: PrefixRule, argv: readonly string[]): readonly string[] | undefined {
  const prefix = argv.slice(0, pattern.length);
  return prefix.length === pattern.length && prefix.every((word, at) => pattern[at]?.includes(word)) ? prefix : undefined;
}

const ARGUMENTS = ["pattern", "decision", "justification", "match", "not_match"] as const;

/** The rules of one file; throws `RuleSyntaxError` when it contains anything else, or when one of its examples contradicts a rule. */
export function readPrefixRules(source: string): PrefixRule[] {
  return readRuleCalls(source).map((call) => {
    const rule = ruleOf(call);
    verifyExamples(call, rule);
    return rule;
  });
}

function ruleOf({ line, args }: RuleCall): PrefixRule {
  const unknown = [...args.keys()].find((name) => oneOf(ARGUMENTS, name) === undefined);
  if (unknown) throw new RuleSyntaxError(line, `prefix_rule has no argument ${unknown}`);
  const pattern = listOf(args.get("pattern"), "pattern", line).map((word) => alternatives(word, line));
  const decision = oneOf(RULE_DECISIONS, args.get("decision") ?? "allow");
  if (!decision) throw new RuleSyntaxError(line, `decision must be one of ${RULE_DECISIONS.join(", ")}`);
  const justification = args.get("justification");
  if (justification === undefined) return { pattern, decision };
  if (typeof justification !== "string" || justification.trim() === "")
    throw new RuleSyntaxError(line, "justification must be a non-empty string");
  return { pattern, decision, justification };
}

function listOf(value: RuleValue | undefined, name: string, line: number): readonly RuleValue[] {
  if (!Array.isArray(value) || value.length === 0) throw new RuleSyntaxError(line, `${name} must be a non-empty list`);
  return value;
}

function alternatives(word: RuleValue, line: number): readonly string[] {
  if (typeof word === "string") return [word];
  const words = word.filter((each) => typeof each === "string");
  if (words.length === 0 || words.length < word.length)
    throw new RuleSyntaxError(line, "a word of pattern must be a string or a list of strings");
  return words;
}

function verifyExamples({ line, args }: RuleCall, rule: PrefixRule): void {
  for (const argv of examples(args.get("match"), line))
    if (!matchedPrefix(rule, argv)) throw new RuleSyntaxError(line, `the rule does not match its example ${JSON.stringify(argv)}`);
  for (const argv of examples(args.get("not_match"), line))
    if (matchedPrefix(rule, argv))
      throw new RuleSyntaxError(line, `the rule matches ${JSON.stringify(argv)}, an example it should not match`);
}

function examples(value: RuleValue | undefined, line: number): (readonly string[])[] {
  if (value === undefined) return [];
  if (typeof value === "string") throw new RuleSyntaxError(line, "examples must be a list");
  return value.map((example) => {
    const argv = typeof example === "string" ? shellWords(example) : example.filter((word) => typeof word === "string");
    if (!argv || argv.length === 0) throw new RuleSyntaxError(line, "an example must be a command line or a list of words");
    return argv;
  });
}

type RuleValue = string | readonly RuleValue[];

interface RuleCall {
  readonly line: number;
  readonly args: ReadonlyMap<string, RuleValue>;
}

/** The `prefix_rule(name=value, …)` calls of a rules file. Nothing else is allowed there. */
function readRuleCalls(source: string): RuleCall[] {
  const tokens = ruleTokens(source);
  let at = 0;
  const calls: RuleCall[] = [];
  let lastLine = 0;
  while (peek().kind !== "end") {
    const { line } = expect("prefix_rule");
    if (line === lastLine) throw new RuleSyntaxError(line, "a second call on the same line");
    expect("(");
    calls.push({ line, args: readArguments() });
    lastLine = expect(")").line;
  }
  return calls;

  function readArguments(): Map<string, RuleValue> {
    const args = new Map<string, RuleValue>();
    while (peek().kind === "name") {
      const { text: name, line } = next();
      expect("=");
      if (args.has(name)) throw new RuleSyntaxError(line, `${name} is given twice`);
      args.set(name, readValue());
      if (!skip(",")) break;
    }
    return args;
  }

  function readValue(): RuleValue {
    const token = next();
    if (token.kind === "string") return token.text;
    if (token.kind !== "mark" || token.text !== "[")
      throw new RuleSyntaxError(token.line, `expected a string or a list, found ${token.text}`);
    const items: RuleValue[] = [];
    while (peek().kind !== "mark" || peek().text !== "]") {
      items.push(readValue());
      if (!skip(",")) break;
    }
    expect("]");
    return items;
  }

  function peek(): RuleToken {
    const token = tokens[at] ?? tokens.at(-1);
    if (!token) throw new Error("a token list ends with its end");
    return token;
  }

  function next(): RuleToken {
    const token = peek();
    at++;
    return token;
  }

  function skip(mark: string): boolean {
    const found = peek().kind === "mark" && peek().text === mark;
    if (found) at++;
    return found;
  }

  function expect(text: string): RuleToken {
    const token = next();
    if (token.kind === "string" || token.text !== text) throw new RuleSyntaxError(token.line, `expected ${text}, found ${token.text}`);
    return token;
  }
}

/** The text is outside our subset of Starlark. */
export class RuleSyntaxError extends AppError {
  readonly code = "rule_syntax";

  constructor(
    readonly line: number,
    problem: string,
  ) {
    super(problem);
  }
}

interface RuleToken {
  readonly kind: "name" | "string" | "mark" | "end";
  /** For a string, its value. */
  readonly text: string;
  readonly line: number;
}

const BLANK = /(?:[ \t\r\n]|#[^\n]*|\\\r?\n)*/y;
const NAME = /[A-Za-z_]\w*/y;
const MARK = /[()[\],=]/y;
const STRING = /"""((?:[^\\]|\\.)*?)"""|'''((?:[^\\]|\\.)*?)'''|"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'/sy;

function ruleTokens(source: string): RuleToken[] {
  const tokens: RuleToken[] = [];
  let at = 0;
  let line = 1;

  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at;
    const match = pattern.exec(source);
    at += match?.[0].length ?? 0;
    return match;
  };

  for (;;) {
    line += lineBreaks(take(BLANK)?.[0]);
    if (at >= source.length) return [...tokens, { kind: "end", text: "the end of the file", line }];
    const start = line;
    const name = take(NAME);
    const mark = name ? null : take(MARK);
    const string = name || mark ? null : take(STRING);
    if (name) tokens.push({ kind: "name", text: name[0], line });
    else if (mark) tokens.push({ kind: "mark", text: mark[0], line });
    else if (string) {
      line += lineBreaks(string[0]);
      tokens.push({ kind: "string", text: resolveEscapes(string.slice(1).find((text) => text !== undefined) ?? "", start), line: start });
    } else throw new RuleSyntaxError(line, `unexpected ${JSON.stringify(source[at])}`);
  }
}

function lineBreaks(text: string | undefined): number {
  return (text?.match(/\n/g) ?? []).length;
}

const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", "\\": "\\", "'": "'", '"': '"', "\n": "" };

function resolveEscapes(text: string, line: number): string {
  return text.replace(/\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)/gs, (whole: string, code: string) => {
    if (code.length > 1) return String.fromCharCode(Number.parseInt(code.slice(1), 16));
    const char = ESCAPES[code];
    if (char === undefined) throw new RuleSyntaxError(line, `unknown escape ${whole} in a string`);
    return char;
  });
}
