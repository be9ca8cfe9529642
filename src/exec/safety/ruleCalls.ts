import { RuleSyntaxError, type RuleToken, ruleTokens } from "./ruleTokens.js";

export type RuleValue = string | readonly RuleValue[];

export interface RuleCall {
  readonly line: number;
  readonly args: ReadonlyMap<string, RuleValue>;
}

/** The `prefix_rule(name=value, …)` calls of a rules file. Nothing else may stand there. */
export function readRuleCalls(source: string): RuleCall[] {
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
