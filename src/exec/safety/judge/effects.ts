import { commandsWithin, partsOf } from "../bash/commandsWithin.js";
import type { BashReader } from "../bash/reader.js";
import type { PlainCommand } from "../bash/syntaxTree.js";
import { anyShellScript, hasLong, hasShort, isSystemProgram, operands, programName, UNREAD_COMMANDS } from "../bash/words.js";

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
   * Set where the command runs without a sandbox: whether a name leads to a program that no one can have planted. Git is never safe there:
   * a repository's configuration names programs that git runs (`core.fsmonitor`, `diff.external`, filters, signatures).
   */
  readonly trusts?: ((name: string) => boolean) | undefined;
}

const ALWAYS_SAFE = new Set(
  "cat cd cut echo expr false grep head id ls nl paste pwd rev seq stat tail tr true uname wc which whoami".split(" "),
);
/** A builtin without a program of the same name. */
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

/** Options that make the read-only subcommands write a file or start a program. */
const WRITING_OR_RUNNING = ["--output", "--ext-diff"];

/** With one of these `git branch` lists, whatever names follow; without, `git branch NAME` creates a branch. */
const LISTS = /^(-l|--list|--(contains|no-contains|merged|no-merged|points-at)(=.*)?)$/;

const SHAPES_THE_LIST =
  /^(-[arvi]+|--all|--remotes|--verbose|--ignore-case|--show-current|--no-color|--no-column|--no-abbrev|--(color|column|abbrev)(=.*)?|--(sort|format)=.*)$/;

/** `git` with these arguments only reads. Options before the subcommand are never safe: `-c` can name a program to run. */
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

/**
 * Commands that destroy what cannot be recovered: they need approval under every policy, and are refused where no approval can be requested.
 * Stricter than Codex 0.92.0, which does not see these:
 *
 * | form | Codex sees only |
 * |---|---|
 * | `rm -fr`, `rm -r -f`, `rm x -Rf`, `rm --force` | `rm -f`, `rm -rf` as the first argument |
 * | `git -C dir reset`, `git --no-pager rm` | the second word |
 * | `git clean` (but not `-n`), `git push` with `-f`, `--force…`, `--mirror`, `--delete`, `--prune`, `+ref`, `:ref` | `reset`, `rm` |
 * | `git branch -D`, `git checkout -f`, `git switch -f`, `git stash drop/clear`, `git reflog expire/delete`, `git update-ref -d`, `git filter-branch` | `reset`, `rm` |
 * | `find … -delete`, `shred`, `mkfs…`, `wipefs`, `dd of=/dev/…` | – |
 * | behind `sudo -u x`, `env`, `xargs`, `timeout`, `nohup`, `find -exec`, … | `sudo X` |
 * | in a script with expansions, redirections, subshells or loops; behind `bash -ec` | plain sequences, `-c` and `-lc` |
 * | a script too long or too tangled to be read | – |
 */
export function isDangerous(argv: readonly string[], parser: BashReader, isAllowed?: (words: readonly string[]) => boolean): boolean {
  for (const words of commandsWithin(argv, parser, isAllowed && { except: isAllowed }))
    if (isDestructive(words) || isUnreadable(words, parser)) return true;
  return false;
}

/** It is impossible to tell what it runs. */
export function isUnreadable(words: readonly string[], parser: BashReader): boolean {
  if (words === UNREAD_COMMANDS) return true;
  const script = anyShellScript(words);
  return script !== undefined && !parser.canRead(script);
}

function isDestructive([program = "", ...args]: readonly string[]): boolean {
  const name = programName(program);
  if (name.endsWith("git")) return isDestructiveGit(args);
  switch (name) {
    case "rm":
      return hasShort(args, "f") || hasLong(args, "--force");
    case "find":
      return args.includes("-delete");
    case "dd":
      return args.some((word) => /^of=\/dev\/(?!null$|stdout$|stderr$)/.test(word));
    case "shred":
    case "wipefs":
      return true;
    default:
      return name === "mkfs" || name.startsWith("mkfs.");
  }
}

/** Options of `git` itself that take the next word as their value. */
const VALUED = ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--attr-source"];

/** Loses commits or uncommitted work, here or on a remote. */
function isDestructiveGit(args: readonly string[]): boolean {
  const [subcommand, ...rest] = subcommandOf(args);
  switch (subcommand) {
    case "reset":
    case "rm":
    case "filter-branch":
      return true;
    case "clean":
      return !rest.some((word) => /^-[dfiqxX]*n/.test(word)) && !hasLong(rest, "--dry-run");
    case "push":
      return overwritesRemote(rest);
    case "checkout":
    case "switch":
      return hasShort(rest, "f") || hasLong(rest, "--force") || hasLong(rest, "--discard-changes");
    case "branch":
      return (
        hasShort(rest, "D") || ((hasShort(rest, "d") || hasLong(rest, "--delete")) && (hasShort(rest, "f") || hasLong(rest, "--force")))
      );
    case "stash":
      return rest[0] === "drop" || rest[0] === "clear";
    case "reflog":
      return rest[0] === "expire" || rest[0] === "delete";
    case "update-ref":
      return hasShort(rest, "d") || hasLong(rest, "--delete");
    default:
      return false;
  }
}

function overwritesRemote(args: readonly string[]): boolean {
  return (
    hasShort(args, "f") ||
    hasShort(args, "d") ||
    ["--force", "--force-with-lease", "--mirror", "--delete", "--prune"].some((option) => hasLong(args, option)) ||
    operands(args).some((word) => word.startsWith("+") || word.startsWith(":"))
  );
}

/** The subcommand and its arguments, without the options of `git` itself. */
export function subcommandOf(args: readonly string[]): readonly string[] {
  const at = args.findIndex((word, index) => !word.startsWith("-") && !VALUED.includes(args[index - 1] ?? ""));
  return at < 0 ? [] : args.slice(at);
}
