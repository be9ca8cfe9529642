import type { BashReader } from "./bashReader.js";

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
