import type { BashReader } from "../bash/reader.js";
import { anyShellScript, isBashLike, programName } from "../bash/words.js";
import type { PrefixRule } from "../rules/ruleFile.js";
import { subcommandOf } from "./effects.js";

/** Programs and builtins whose arguments are data: texts, files, names of packages or subcommands of their own. They run none of them. */
const TAKES_DATA = new Set(
  (
    "[ [[ test : true false echo printf cd pushd popd pwd export unset local declare typeset readonly read return break continue shift set shopt umask ulimit wait kill " +
    "cat head tail tac nl cut paste tr wc sort uniq comm join column fold fmt rev seq expr numfmt tee ls stat file du df tree " +
    "grep egrep fgrep rg ag which whoami whereis type man id uname date sleep basename dirname realpath readlink mktemp diff cmp patch apply_patch " +
    "mkdir rmdir touch cp mv ln rm chmod chown chgrp install truncate dd md5sum sha1sum sha256sum cksum base64 xxd od jq yq " +
    "zip unzip gzip gunzip bzip2 xz zstd curl wget " +
    "docker podman kubectl helm aws gcloud gsutil az gh glab brew apt apt-get apk dnf yum pacman pip pip3 cargo go gem composer conda"
  ).split(" "),
);

/** Subcommands of git that run a command of their arguments. Those of others are data, such as messages. */
const GIT_RUNS = new Set(["submodule", "bisect", "rebase", "difftool", "mergetool", "grep", "filter-branch", "for-each-repo"]);

/** Settings of git that come from elsewhere may name a program or stand for another subcommand. */
const GIT_SETTINGS = /--config-env|\bGIT_CONFIG_(?:COUNT|PARAMETERS|KEY_\d|VALUE_\d)/;

/**
 * Whether a command may run, by itself, a command that a rule is about, because its arguments name one. Programs that run others are too
 * many to be known, so only those that certainly do not are left out.
 */
export function mayRun(words: readonly string[], rules: readonly PrefixRule[], parser: BashReader): boolean {
  const [program = "", ...args] = words;
  const name = programName(program);
  if (words.some((word) => GIT_SETTINGS.test(word))) return true;
  if (name === "git") return GIT_RUNS.has(subcommandOf(args)[0] ?? "") && mentions(args, rules);
  const script = isBashLike(name) ? anyShellScript(words) : undefined;
  // Its commands are judged one by one.
  if (script !== undefined && parser.canRead(script)) return false;
  // In zsh, a block may follow a condition without a separator.
  if (!TAKES_DATA.has(name) || args.includes("{")) return mentions(args, rules);
  return mentions(
    args.filter((word) => /\$\(|`/.test(word)),
    rules,
  );
}

const BETWEEN_WORDS = /[\s"'`$(){}[\]|&;<>\\,=:!]+/;
/** A value may be attached to a short option. */
const ATTACHED = /^-[a-zA-Z](?=\w)/;

/** Whether some words, or words within them, are the beginning of a command that a rule is about. */
function mentions(args: readonly string[], rules: readonly PrefixRule[]): boolean {
  const tokens = args.flatMap((word) => word.split(BETWEEN_WORDS)).filter((token) => token !== "");
  const byFirst = new Map<string, PrefixRule["pattern"][]>();
  for (const { pattern } of rules) for (const first of pattern[0] ?? []) byFirst.set(first, [...(byFirst.get(first) ?? []), pattern]);
  return tokens.some((token, at) => {
    const spellings = [token, programName(token), token.replace(ATTACHED, "")];
    const patterns = spellings.flatMap((spelling) => byFirst.get(spelling) ?? []);
    return patterns.some((pattern) => pattern.every((known, more) => more === 0 || known.includes(tokens[at + more] ?? "")));
  });
}

/**
 * The command as written, by the program's bare name (in zsh `=rm` is `/bin/rm`), and without git's own options before the subcommand, which
 * may be part of the program's name.
 */
export function spellingsOf(words: readonly string[]): (readonly string[])[] {
  const [program = "", ...args] = words;
  const name = programName(program).replace(/^=/, "");
  const [, subcommand] = /^git-(.+)$/.exec(name) ?? [];
  if (subcommand !== undefined) return [words, [name, ...args], ["git", subcommand, ...args]];
  return [words, [name, ...args], ...(name === "git" ? [[name, ...subcommandOf(args)]] : [])];
}
