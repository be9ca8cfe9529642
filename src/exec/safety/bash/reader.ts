export interface PlainCommand {
  readonly words: readonly string[];
  /** A word may be replaced by file names that look like options, such as `*` where a file is called `-delete`. */
  readonly mayGainOptions: boolean;
}

export interface HeredocPatch {
  readonly patch: string;
  /** As the script names it: relative to the command's working directory unless absolute. */
  readonly workdir?: string;
}

/** Reads bash scripts without running them. */
export interface BashReader {
  /** Neither too long nor too slow to be looked into; it may well be wrong bash. */
  canRead(script: string): boolean;
  /** The commands of a script that is nothing but commands in sequence; undefined for every other script. */
  plainCommands(script: string): PlainCommand[] | undefined;
  /** Every command the script names anywhere, as far as its words can be told: for finding trouble, never for ruling it out. */
  mentionedCommands(script: string): string[][];
  /** The patch of a script that does nothing but hand one to `apply_patch`, perhaps after a `cd`. */
  patchHeredoc(script: string): HeredocPatch | undefined;
}

/** Letters, digits and signs that mean nothing to bash, one blank between two words. */
const PLAIN_WORDS = /^[\w./:@%+,-]+(?: [\w./:@%+,-]+)*$/;
/** The grammar takes numbers and odd signs for something other than a program's name. */
const PROGRAM_FIRST = /^[A-Za-z_./][\w./-]*(?: |$)/;

/** Words that bash, or the grammar that reads it for us, treats as more than a program's name. */
const SPECIAL_WORDS = new Set(
  (
    "if then elif else fi for while until do done case esac in select function coproc time " +
    "declare typeset export readonly local unset unsetenv let"
  ).split(" "),
);

const LONGEST_PLAIN_SCRIPT = 10_000;

/** Whether the scripts in this call, at whatever depth, are single commands in plain words. */
export function areUnmistakable(argv: readonly string[]): boolean {
  return argv.every(arePlainWords);
}

function arePlainWords(text: string): boolean {
  return text.length <= LONGEST_PLAIN_SCRIPT && PLAIN_WORDS.test(text) && !text.split(" ").some((word) => SPECIAL_WORDS.has(word));
}

function isUnmistakable(script: string): boolean {
  return arePlainWords(script) && PROGRAM_FIRST.test(script);
}

/** Reads scripts of one command in plain words; any other is unreadable to it, and what is unreadable counts as trouble. */
export const UNMISTAKABLE_SCRIPTS: BashReader = {
  canRead: isUnmistakable,
  plainCommands: (script) => (isUnmistakable(script) ? [{ words: script.split(" "), mayGainOptions: false }] : undefined),
  mentionedCommands: (script) => (isUnmistakable(script) ? [script.split(" ")] : []),
  patchHeredoc: () => undefined,
};
