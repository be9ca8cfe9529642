import { AppError } from "../../lib/errors.js";

/** The text is not one our subset of Starlark can read. */
export class RuleSyntaxError extends AppError {
  readonly code = "rule_syntax";

  constructor(
    readonly line: number,
    problem: string,
  ) {
    super(problem);
  }
}

export interface RuleToken {
  readonly kind: "name" | "string" | "mark" | "end";
  /** For a string its value. */
  readonly text: string;
  readonly line: number;
}

const BLANK = /(?:[ \t\r\n]|#[^\n]*|\\\r?\n)*/y;
const NAME = /[A-Za-z_]\w*/y;
const MARK = /[()[\],=]/y;
const STRING = /"""((?:[^\\]|\\.)*?)"""|'''((?:[^\\]|\\.)*?)'''|"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'/sy;

export function ruleTokens(source: string): RuleToken[] {
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
