import { hasLong, operands } from "./options.js";

/** Options that make the looking subcommands write a file or start a program. */
const WRITING_OR_RUNNING = ["--output", "--ext-diff"];

/** With one of these `git branch` lists, whatever names follow; without, `git branch NAME` makes a branch. */
const LISTS = /^(-l|--list|--(contains|no-contains|merged|no-merged|points-at)(=.*)?)$/;

const SHAPES_THE_LIST =
  /^(-[arvi]+|--all|--remotes|--verbose|--ignore-case|--show-current|--no-color|--no-column|--no-abbrev|--(color|column|abbrev)(=.*)?|--(sort|format)=.*)$/;

/** `git` with these words behind it only looks. Options before the subcommand are never safe: `-c` can name a program to run. */
export function isReadOnlyGit([subcommand, ...args]: readonly string[]): boolean {
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
