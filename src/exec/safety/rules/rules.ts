import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { describe, errorCode } from "../../../lib/errors.js";
import { matchedPrefix, type PrefixRule, RULE_DECISIONS, type RuleDecision, RuleSyntaxError, readPrefixRules } from "./ruleFile.js";

interface LoadedRules {
  readonly rules: readonly PrefixRule[];
  /**
   * One for each file that could not be read. While there are any, no rule allows anything; rules of the other files that forbid or ask
   * remain in force.
   */
  readonly warnings: readonly string[];
}

export interface RuleMatch {
  readonly decision: RuleDecision;
  /** The words of the command that the rule matches. */
  readonly prefix: readonly string[];
  readonly justification?: string;
}

let latest: { readonly folder: string; readonly state: string; readonly loaded: LoadedRules } | undefined;

/** The user's `rules/*.rules`, read again only after one of them changed. */
export function loadRules(codexHome: string): LoadedRules {
  const folder = path.join(codexHome, "rules");
  const files = ruleFiles(folder);
  const state = files.map(stateOf).join("\n");
  if (latest?.folder !== folder || latest.state !== state) latest = { folder, state, loaded: readAll(files) };
  return latest.loaded;
}

/** The strictest rule that matches this command; among equals the most specific. */
export function matchRules(rules: readonly PrefixRule[], argv: readonly string[]): RuleMatch | undefined {
  return strictest(
    rules.flatMap((rule) => {
      const prefix = matchedPrefix(rule, argv);
      if (!prefix) return [];
      const { decision, justification } = rule;
      return [{ decision, prefix, ...(justification !== undefined && { justification }) }];
    }),
  );
}

export function strictest(matches: readonly RuleMatch[]): RuleMatch | undefined {
  const [first, ...others] = matches;
  return first && others.reduce((best, match) => (rank(match) > rank(best) ? match : best), first);
}

function rank({ decision, prefix }: RuleMatch): number {
  return RULE_DECISIONS.indexOf(decision) * 1_000_000 + prefix.length;
}

function ruleFiles(folder: string): string[] {
  // Most users have no rules. For them `readdir` would throw, which is slower than `stat`.
  if (!statSync(folder, { throwIfNoEntry: false })) return [];
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith(".rules"))
      .sort()
      .map((name) => path.join(folder, name));
  } catch (error) {
    if (errorCode(error) === "ENOENT" || errorCode(error) === "ENOTDIR") return [];
    throw error;
  }
}

function stateOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return `${file} ${found?.mtimeMs} ${found?.size} ${found?.ino}`;
}

function readAll(files: readonly string[]): LoadedRules {
  const rules: PrefixRule[] = [];
  const warnings: string[] = [];
  for (const file of files) {
    try {
      rules.push(...readPrefixRules(readFileSync(file, "utf8")));
    } catch (error) {
      const place = error instanceof RuleSyntaxError ? `${file}:${error.line}` : file;
      warnings.push(`${place}: ${describe(error)}. Until this is fixed, its rules are not applied, and no rule allows a command.`);
    }
  }
  return { rules: warnings.length > 0 ? rules.filter(({ decision }) => decision !== "allow") : rules, warnings };
}

/** The rules that apply to one thread: the user's rules, and prefixes allowed while the thread lives. Nothing is written to disk. */
export class ThreadRules {
  readonly #userRules: () => readonly PrefixRule[];
  readonly #allowed = new Map<string, PrefixRule>();

  /** `userRules` is called each time, so that an edited file applies to the next command. */
  constructor(userRules: () => readonly PrefixRule[]) {
    this.#userRules = userRules;
  }

  /** From now on, commands that begin with these words run without a question, unless a rule of the user is stricter. */
  allow(prefix: readonly string[]): void {
    // An empty prefix would allow everything.
    if (prefix.length === 0) return;
    this.#allowed.set(JSON.stringify(prefix), { pattern: prefix.map((word) => [word]), decision: "allow" });
  }

  inForce(): readonly PrefixRule[] {
    return [...this.#userRules(), ...this.#allowed.values()];
  }
}
