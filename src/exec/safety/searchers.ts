import { operands, optionValue } from "./options.js";

const CONTEXT = ["-A", "-B", "-C", "-m", "--after-context", "--before-context", "--context", "--max-count"];

const RG_VALUED = [
  ...CONTEXT,
  ..."-e --regexp -f --file -g --glob --iglob -t --type -T --type-not -M --max-columns -d --max-depth".split(" "),
  ..."-j --threads -E --encoding -r --replace --sort --sortr --color --max-filesize".split(" "),
];

const GREP_VALUED = [...CONTEXT, "-e", "--regexp", "-f", "--file", "-d", "-D", "--include", "--exclude", "--exclude-dir"];

/** Programs that search text, with the options whose value is the next word. */
const SEARCHERS: ReadonlyMap<string, readonly string[]> = new Map([
  ["rg", RG_VALUED],
  ["rga", RG_VALUED],
  ["grep", GREP_VALUED],
  ["egrep", GREP_VALUED],
  ["fgrep", GREP_VALUED],
  ["ag", [...CONTEXT, "-G", "--file-search-regex", "--ignore", "--depth"]],
  ["ack", [...CONTEXT, "--type", "--ignore-dir", "--match"]],
  ["pt", [...CONTEXT, "-G", "--file-search-regexp", "--ignore", "--depth"]],
]);

export function isSearchProgram(program: string): boolean {
  return SEARCHERS.has(program);
}

/** What is looked for, and where. */
export function searchTerms(program: string, args: readonly string[]): { query: string | undefined; paths: readonly string[] } {
  const words = operands(args, SEARCHERS.get(program));
  const pattern = optionValue(args, ["-e", "--regexp", "--match"]);
  if (pattern !== undefined) return { query: pattern, paths: words };
  const [query, ...paths] = words;
  return { query, paths };
}
