import { commandsWithin, UNREAD_COMMANDS } from "../bash/commandsWithin.js";
import type { BashReader } from "../bash/reader.js";
import { anyShellScript, hasLong, hasShort, operands, programName } from "../bash/words.js";

/**
 * Commands that destroy what cannot be had back: asked about under every policy, refused where nobody may be asked.
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
  for (const words of commandsWithin(argv, parser, isAllowed)) if (isDestructive(words) || isUnreadable(words, parser)) return true;
  return false;
}

/** Some script in it cannot be read, so that nobody can say what it runs. */
export function hidesItsScript(argv: readonly string[], parser: BashReader): boolean {
  for (const words of commandsWithin(argv, parser)) if (isUnreadable(words, parser)) return true;
  return false;
}

function isUnreadable(words: readonly string[], parser: BashReader): boolean {
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

/** Options of `git` itself whose value is the next word. */
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

function subcommandOf(args: readonly string[]): readonly string[] {
  const at = args.findIndex((word, index) => !word.startsWith("-") && !VALUED.includes(args[index - 1] ?? ""));
  return at < 0 ? [] : args.slice(at);
}
