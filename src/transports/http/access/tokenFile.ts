import { GateMisconfigured } from "./errors.js";
import { checkToken, type WrittenToken } from "./tokenTable.js";

/** Every request is compared with all of them. */
const MAX_TOKENS = 1_000;
const NAME_FORM = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/;
const OPERATOR = "operator";

/**
 * The tokens of a file with one on each line:
 *
 *     # a comment
 *     TOKEN
 *     NAME TOKEN            or NAME: TOKEN
 *     NAME TOKEN operator
 *
 * Several tokens may have the same name, so that one can be replaced while the other still works. Complaints name the line, never what it says.
 */
export function parseTokenFile(text: string, file: string): readonly WrittenToken[] {
  const tokens = new Map<string, WrittenToken>();
  for (const [at, line] of text.split("\n").entries()) {
    const where = `${file}, line ${at + 1}`;
    const written = parseLine(line, where);
    if (written === undefined) continue;
    if (tokens.has(written.token)) throw new GateMisconfigured(`${where}: the token is already on a line above`);
    tokens.set(written.token, written);
  }
  if (tokens.size === 0) throw new GateMisconfigured(`${file}: there is no token in it`);
  if (tokens.size > MAX_TOKENS) throw new GateMisconfigured(`${file}: there are more than ${MAX_TOKENS} tokens in it`);
  return [...tokens.values()];
}

function parseLine(line: string, where: string): WrittenToken | undefined {
  const [said = ""] = line.replace(/^\uFEFF/, "").split(/(?:^|\s)#/);
  const words = said.trim().split(/\s*:\s*|\s+/);
  if (words[0] === "") return undefined;
  const operator = words.length > 1 && words.at(-1) === OPERATOR;
  const [first = "", second, surplus] = operator ? words.slice(0, -1) : words;
  if (surplus !== undefined) throw new GateMisconfigured(`${where}: expected TOKEN, or NAME TOKEN, then perhaps the word ${OPERATOR}`);
  const token = second ?? first;
  checkToken(token, where);
  if (second === undefined) return { token, operator };
  if (!NAME_FORM.test(first))
    throw new GateMisconfigured(`${where}: a name has up to 64 letters, digits and ._@- and begins with a letter or digit`);
  return { token, name: first, operator };
}
