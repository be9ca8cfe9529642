import { hasLong, hasShort, operands } from "./options.js";

/** Options of `git` itself whose value is the next word. */
const VALUED = ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--attr-source"];

/** Loses commits or uncommitted work, here or on a remote. */
export function isDestructiveGit(args: readonly string[]): boolean {
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
