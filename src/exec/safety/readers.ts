import { operands } from "./options.js";

/** Programs that show a file, with the options whose value is the next word. */
const READERS: ReadonlyMap<string, readonly string[]> = new Map([
  ["cat", []],
  ["bat", ["-r", "--line-range", "-l", "--language", "--style", "--theme", "-H", "--highlight-line", "--wrap", "--color", "--paging"]],
  ["less", ["-p", "-P", "-x", "-j"]],
  ["more", []],
  ["nl", ["-s", "-w", "-v", "-i", "-b", "-h", "-f", "-l", "-n", "-d"]],
  ["head", ["-n", "-c", "--lines", "--bytes"]],
  ["tail", ["-n", "-c", "--lines", "--bytes"]],
]);

/** The one file a command shows; undefined if it does anything else. */
export function fileRead([program = "", ...args]: readonly string[]): string | undefined {
  const valued = READERS.get(program);
  if (valued) return onlyOne(operands(args, valued));
  if (program === "sed") return args[0] === "-n" && isLineRange(args[1]) ? onlyOne(args.slice(2)) : undefined;
  if (program === "awk") return onlyOne(operands(args, ["-F", "-v", "-f"]).slice(args.includes("-f") ? 0 : 1));
  return undefined;
}

/** `12p` or `3,9p`, as `sed -n` takes it. */
function isLineRange(word: string | undefined): boolean {
  return word !== undefined && /^\d+(,\d+)?p$/.test(word);
}

function onlyOne(words: readonly string[]): string | undefined {
  return words.length === 1 && words[0] !== "-" ? words[0] : undefined;
}
