import type { BashReader } from "./bashReader.js";
import { partsOf } from "./commandParts.js";
import { commandsWithin } from "./commandsWithin.js";
import { isDangerous } from "./dangerous.js";
import { isSafePart } from "./knownSafe.js";
import type { PrefixRule } from "./prefixRule.js";
import { programName } from "./program.js";
import { matchRules, type RuleMatch, strictest } from "./rules.js";

export interface ExaminedCommand {
  readonly argv: readonly string[];
  readonly rules: readonly PrefixRule[];
  readonly parser: BashReader;
  /** Set where it would run outside any sandbox: whether a name leads to a program that nobody can have planted. */
  readonly trusts?: ((name: string) => boolean) | undefined;
}

/** What is to be said about a command before any policy is looked at. */
export interface Findings {
  /** The strictest rules that speak against it. */
  readonly forbidden?: RuleMatch;
  readonly prompt?: RuleMatch;
  readonly dangerous: boolean;
  /** Rules let it run outside the sandbox. */
  readonly allowedByRules: boolean;
  /** Each part only looks, or is allowed by a rule. */
  readonly safe: boolean;
  /** The part an approver could allow for good. */
  readonly proposedPrefix?: readonly string[];
}

/** Commands without effect of their own, that may stand beside an allowed one: `cd dir && allowed`. */
const INERT = new Set(["cd", "echo", "false", "pwd", "true"]);

/**
 * Stricter than Codex 0.92.0:
 *
 * | case | Codex | here |
 * |---|---|---|
 * | one part of a sequence is allowed by a rule | all of it leaves the sandbox | only if every part is allowed, or is `cd`, `echo`, `pwd`, `true`, `false` |
 * | a forbidden or prompt rule and `/bin/rm`, `sudo rm`, `rm x > y`, `(rm x)` | not seen | seen |
 * | a known-safe command that asks to leave the sandbox | leaves it unasked | asked |
 * | a dangerous command | "always allow" is offered | not offered |
 */
export function examine({ argv, rules, parser, trusts }: ExaminedCommand): Findings {
  const decisionFor = (words: readonly string[]) => matchRules(rules, words)?.decision;
  const parts = partsOf(argv, parser).map((part) => ({ ...part, safe: isSafePart(part, { trusts }), rule: decisionFor(part.words) }));
  const forbidden = rulesAgainst({ argv, rules, parser }, "forbidden");
  const prompt = rulesAgainst({ argv, rules, parser }, "prompt");
  const [shell = ""] = argv;
  // A name that leads to a planted shell leads anywhere.
  const shellIsTrusted = !trusts || shell.includes("/") || parts.some(({ words }) => words === argv) || trusts(shell);
  const unmatched = parts.filter((part) => part.rule === undefined);
  const proposedPrefix = (unmatched.find((part) => !part.safe) ?? unmatched[0])?.words;
  return {
    ...(forbidden && { forbidden }),
    ...(prompt && { prompt }),
    dangerous: isDangerous(argv, parser, (words) => decisionFor(words) === "allow"),
    allowedByRules: parts.some((part) => part.rule === "allow") && unmatched.every((part) => INERT.has(part.words[0] ?? "")),
    safe: shellIsTrusted && parts.every((part) => part.safe || part.rule === "allow"),
    ...(proposedPrefix && { proposedPrefix }),
  };
}

/** The strictest rule of a kind about the command or any that it would run. Such rules hold by whatever path a program is called; one in its favour only as it is written. */
export function rulesAgainst({ argv, rules, parser }: ExaminedCommand, decision: "forbidden" | "prompt"): RuleMatch | undefined {
  const about = rules.filter((rule) => rule.decision === decision);
  if (about.length === 0) return undefined;
  const matches = [...commandsWithin(argv, parser)].flatMap((words) => {
    const [program = "", ...args] = words;
    return [matchRules(about, words), matchRules(about, [programName(program), ...args])];
  });
  return strictest(matches.filter((match) => match !== undefined));
}
