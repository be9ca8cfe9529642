import { partsOf } from "../bash/commandsWithin.js";
import type { BashReader, PlainCommand } from "../bash/reader.js";
import { hasLong, hasShort, isSystemProgram, operands, programName } from "../bash/words.js";

/**
 * Commands that only look. Stricter than Codex 0.92.0 in these forms, which it counts as safe:
 *
 * | form | why not |
 * |---|---|
 * | `./ls`, `/home/me/cat`, `./bash -lc …` | a program outside the system folders may be anything |
 * | `git diff --output=f`, `--ext-diff` (also cut short) | writes a file, runs a program |
 * | `git branch x`, `-D x`, `-m a b`, … | creates, deletes, renames; only listing is safe |
 * | `cargo check` | runs the build scripts of the workspace |
 * | `uniq in out` | writes its second operand |
 * | `base64 -Do f`, `rg -nz` | the refused option inside a cluster |
 * | `sed -n 1p -i` | an option where a file is expected |
 * | `find *`, `git diff *`, `rg x *`, … unquoted | a file may be called `-delete` or `--pre=…` |
 * | `find . -d\elete`, `{-delete,-print}` | words are read as bash reads them |
 */
export function isKnownSafe(argv: readonly string[], parser: BashReader, where: WhereItRuns = {}): boolean {
  return partsOf(argv, parser).every((part) => isSafePart(part, where));
}

interface WhereItRuns {
  readonly platform?: NodeJS.Platform;
  /**
   * Set where no sandbox is around the command: whether a name leads to a program that nobody can have planted. There git is never
   * safe: the configuration of a repository names programs that it runs (`core.fsmonitor`, `diff.external`, filters, signatures).
   */
  readonly trusts?: ((name: string) => boolean) | undefined;
}

const ALWAYS_SAFE = new Set(
  "cat cd cut echo expr false grep head id ls nl paste pwd rev seq stat tail tr true uname wc which whoami".split(" "),
);
/** There is no program that could be taken for it. */
const ONLY_BUILT_IN = new Set(["cd"]);
const SAFE_ON_LINUX = new Set(["numfmt", "tac"]);

type Condition = (args: readonly string[]) => boolean;

const SAFE_WHEN: ReadonlyMap<string, Condition> = new Map<string, Condition>([
  ["base64", (args) => !hasShort(args, "o") && !hasLong(args, "--output")],
  ["find", (args) => !args.some((word) => /^-(exec|execdir|ok|okdir|delete|fls|fprint|fprint0|fprintf)$/.test(word))],
  ["git", isReadOnlyGit],
  ["rg", (args) => !hasShort(args, "z") && !["--pre", "--hostname-bin", "--search-zip"].some((option) => hasExact(args, option))],
  ["sed", printsLines],
  ["uniq", (args) => operands(args, ["-f", "-s", "-w", "--skip-fields", "--skip-chars", "--check-chars"]).length <= 1],
]);

export function isSafePart({ words, mayGainOptions }: PlainCommand, { platform = process.platform, trusts }: WhereItRuns = {}): boolean {
  const [program, ...args] = words;
  if (program === undefined || !isSystemProgram(program)) return false;
  const name = programName(program);
  if (trusts && (name === "git" || !(program !== name || ONLY_BUILT_IN.has(name) || trusts(name)))) return false;
  const condition = SAFE_WHEN.get(name);
  if (condition) return !mayGainOptions && condition(args);
  return ALWAYS_SAFE.has(name) || (platform === "linux" && SAFE_ON_LINUX.has(name));
}

function hasExact(args: readonly string[], option: string): boolean {
  return args.some((word) => word === option || word.startsWith(`${option}=`));
}

/** `sed -n 12p file`, `sed -n 3,9p file`. */
function printsLines([flag, range = "", file = "-", ...more]: readonly string[]): boolean {
  return flag === "-n" && /^\d+(,\d+)?p$/.test(range) && (file === "-" || !file.startsWith("-")) && more.length === 0;
}

/** Options that make the looking subcommands write a file or start a program. */
const WRITING_OR_RUNNING = ["--output", "--ext-diff"];

/** With one of these `git branch` lists, whatever names follow; without, `git branch NAME` makes a branch. */
const LISTS = /^(-l|--list|--(contains|no-contains|merged|no-merged|points-at)(=.*)?)$/;

const SHAPES_THE_LIST =
  /^(-[arvi]+|--all|--remotes|--verbose|--ignore-case|--show-current|--no-color|--no-column|--no-abbrev|--(color|column|abbrev)(=.*)?|--(sort|format)=.*)$/;

/** `git` with these words behind it only looks. Options before the subcommand are never safe: `-c` can name a program to run. */
function isReadOnlyGit([subcommand, ...args]: readonly string[]): boolean {
  switch (subcommand) {
    case "status":
    case "log":
    case "diff":
    case "show":
      return !WRITING_OR_RUNNING.some((option) => hasLong(args, option));
    case "branch":
      return onlyListsBranches(args);
    default:
      return false;
  }
}

function onlyListsBranches(args: readonly string[]): boolean {
  const options = args.filter((word) => word.startsWith("-"));
  return (
    options.every((word) => LISTS.test(word) || SHAPES_THE_LIST.test(word)) &&
    (options.some((word) => LISTS.test(word)) || operands(args).length === 0)
  );
}
