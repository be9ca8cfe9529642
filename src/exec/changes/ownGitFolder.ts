import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { gitSettings } from "../../lib/files/gitConfig.js";

const OBJECT_FORMAT = "objectformat";
const BOOLEAN = /^(?:true|false)$/i;
/** The settings that are taken, and their valid values. */
const FORMS: Readonly<Record<string, RegExp>> = {
  filemode: BOOLEAN,
  ignorecase: BOOLEAN,
  symlinks: BOOLEAN,
  precomposeunicode: BOOLEAN,
  autocrlf: /^(?:true|false|input)$/i,
  [OBJECT_FORMAT]: /^sha256$/i,
};

/** The content of a folder of ours that git uses as the repository's own `.git`. */
interface OwnGitFolder {
  /** The repository's configuration, as written. */
  readonly config: string;
  /** The repository's file of ignored names. */
  readonly exclude: string;
  /** Absent before the first commit. */
  readonly commit: string | undefined;
}

/** Writes a git folder in which nothing is configured that git would run. */
export function writeOwnGitFolder(folder: string, { config, exclude, commit }: OwnGitFolder): void {
  mkdirSync(path.join(folder, "objects"));
  mkdirSync(path.join(folder, "refs"));
  writeFileSync(path.join(folder, "config"), ownConfig(config, { exclude }), { mode: 0o600 });
  writeFileSync(path.join(folder, "HEAD"), `${commit ?? "ref: refs/heads/none"}\n`, { mode: 0o600 });
}

/** Takes only those settings from the repository's configuration that describe how its files are stored. */
function ownConfig(config: string, { exclude }: { readonly exclude: string }): string {
  const stored = new Map<string, string>();
  for (const { key, value } of gitSettings(config)) {
    const isTaken = Object.hasOwn(FORMS, key) && FORMS[key]?.test(value) === true;
    if (isTaken && !stored.has(key)) stored.set(key, value.toLowerCase());
  }
  const isSha256 = stored.get(OBJECT_FORMAT) === "sha256";
  return [
    "[core]",
    `\trepositoryformatversion = ${isSha256 ? 1 : 0}`,
    "\tbare = false",
    "\tfsmonitor = false",
    "\tquotepath = false",
    `\texcludesFile = ${quoted(exclude)}`,
    ...[...stored].filter(([key]) => key !== OBJECT_FORMAT).map(([key, value]) => `\t${key} = ${value}`),
    ...(isSha256 ? ["[extensions]", "\tobjectformat = sha256"] : []),
    "",
  ].join("\n");
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&").replace(/\n/g, "\\n")}"`;
}
