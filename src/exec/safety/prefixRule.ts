import { oneOf } from "../../lib/fields.js";
import { type RuleCall, type RuleValue, readRuleCalls } from "./ruleCalls.js";
import { RuleSyntaxError } from "./ruleTokens.js";
import { shellWords } from "./shellWords.js";

/** From the mildest to the strictest. */
export const RULE_DECISIONS = ["allow", "prompt", "forbidden"] as const;
export type RuleDecision = (typeof RULE_DECISIONS)[number];

/** What the user decided about all commands that begin with certain words. */
export interface PrefixRule {
  /** For each leading word the words it may be. */
  readonly pattern: readonly (readonly string[])[];
  readonly decision: RuleDecision;
  readonly justification?: string;
}

/** The leading words of `argv` that the rule is about, if it is about this command. */
export function matchedPrefix({ pattern }: PrefixRule, argv: readonly string[]): readonly string[] | undefined {
  const prefix = argv.slice(0, pattern.length);
  return prefix.length === pattern.length && prefix.every((word, at) => pattern[at]?.includes(word)) ? prefix : undefined;
}

const ARGUMENTS = ["pattern", "decision", "justification", "match", "not_match"] as const;

/** The rules of one file; throws `RuleSyntaxError` when it holds anything else, or an example of its own contradicts a rule. */
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
    throw new RuleSyntaxError(line, "justification must be a string that says something");
  return { pattern, decision, justification };
}

function listOf(value: RuleValue | undefined, name: string, line: number): readonly RuleValue[] {
  if (!Array.isArray(value) || value.length === 0) throw new RuleSyntaxError(line, `${name} must be a list that is not empty`);
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
