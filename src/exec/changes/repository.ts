import { mkdirSync, realpathSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { findCheckout, gitFoldersOf, readGitCheckout } from "../../lib/files/gitFiles.js";
import { smallFileIfAny } from "../../lib/files/smallFile.js";
import { systemProgram } from "../outside/systemPrograms.js";
import { runCommand } from "../run.js";
import type { Sandbox } from "../sandbox/backend.js";
import { mayReadFor } from "../sandbox/fileView.js";
import { type CallerFolders, type CallerView, callerView, type HiddenPlace } from "../sandbox/hiddenPlaces.js";

/** What looking at a workspace needs of the machine. */
export interface LookingHost {
  readonly env: NodeJS.ProcessEnv;
  readonly hidden: readonly HiddenPlace[];
  readonly ownPrograms: readonly string[];
  sandbox(): Promise<Sandbox>;
  makeTemporaryFolder(): string;
  removeTemporaryFolder(folder: string): void;
}

/** Whose files may be looked at; absent for the server's own user. */
export type LookingFor = Pick<CallerFolders, "folders" | "foreign"> | undefined;

/** A path of the work tree that is not as the commit has it. */
export interface DirtyPath {
  /** The commit has it. */
  readonly isCommitted: boolean;
}

export interface LineCounts {
  readonly added: number;
  readonly removed: number;
}

/** What git has to say of more paths than this is of no use to anybody. */
const LARGEST_OUTPUT = 4 * 1024 * 1024;
/** Up to so many tracked files a list of the untracked ones costs little. */
const FEW_FILES = 10_000;
/** Where the sandbox shows our own folder. */
const OWN_FOLDER = "/tmp";
/** The tree without entries, which every repository knows. */
const EMPTY_TREE = {
  sha1: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
  sha256: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
};

/**
 * A repository as git sees it, compared with the commit it was at when this was opened. Git runs in the sandbox, reads only, and finds a
 * configuration of ours: nothing that the repository configures (hooks, filters, monitors, drivers, helpers) is ever started, and its index is
 * never written.
 */
export class Repository {
  readonly #git: string;
  readonly #sandbox: Sandbox;
  readonly #folder: string;
  readonly #view: CallerView;
  readonly #environment: Readonly<Record<string, string>>;
  readonly #base: string;

  private constructor(
    readonly root: string,
    /** The list of untracked files is quick to have. */
    readonly isSmall: boolean,
    parts: { git: string; sandbox: Sandbox; folder: string; view: CallerView; environment: Readonly<Record<string, string>>; base: string },
  ) {
    this.#git = parts.git;
    this.#sandbox = parts.sandbox;
    this.#folder = parts.folder;
    this.#view = parts.view;
    this.#environment = parts.environment;
    this.#base = parts.base;
  }

  /** Undefined where there is none, or none that git may be let loose on. */
  static async open(cwd: string, host: LookingHost, lookingFor: LookingFor): Promise<Repository | undefined> {
    const git = systemProgram("git");
    const checkout = findCheckout(cwd);
    const folders = checkout === undefined ? undefined : gitFoldersOf(checkout);
    if (git === undefined || checkout === undefined || !folders) return undefined;
    const sandbox = await host.sandbox();
    if (sandbox.backend !== "bubblewrap") return undefined;
    const [root, own, common] = [checkout, folders.own, folders.common].map((folder) => realpathSync.native(folder)) as [
      string,
      string,
      string,
    ];
    const folder = host.makeTemporaryFolder();
    const view = viewFor(lookingFor, { env: host.env, shown: [root, own, common], tmp: () => folder });
    const mayRead = mayReadFor({
      policy: { type: "read-only" },
      workspace: root,
      serverEnv: host.env,
      hidden: host.hidden,
      ownPrograms: host.ownPrograms,
      guarded: [],
      caller: view,
    });
    const config = smallFileIfAny(path.join(common, "config"), { maxBytes: LARGEST_CONFIG, mayRead }) ?? "";
    const isSha256 = /^\s*objectformat\s*=\s*"?sha256"?\s*$/im.test(config);
    const commit = readGitCheckout(root, mayRead)?.commit_hash;
    layOut(folder, { config: ownConfig(config, { exclude: path.join(common, "info", "exclude"), isSha256 }), commit });
    const environment = {
      PATH: path.dirname(git),
      HOME: OWN_FOLDER,
      LC_ALL: "C",
      GIT_DIR: OWN_FOLDER,
      GIT_WORK_TREE: root,
      GIT_INDEX_FILE: path.join(own, "index"),
      GIT_OBJECT_DIRECTORY: path.join(common, "objects"),
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_ATTR_NOSYSTEM: "1",
      GIT_NO_REPLACE_OBJECTS: "1",
      GIT_NO_LAZY_FETCH: "1",
      GIT_OPTIONAL_LOCKS: "0",
      GIT_LITERAL_PATHSPECS: "1",
      GIT_TERMINAL_PROMPT: "0",
    };
    const base = commit ?? EMPTY_TREE[isSha256 ? "sha256" : "sha1"];
    return new Repository(root, isSmallIndex(path.join(own, "index")), { git, sandbox, folder, view, environment, base });
  }

  /** What differs from the commit. Undefined when git cannot tell, or not in time. */
  async dirtyPaths({
    untracked,
    signal,
  }: {
    readonly untracked: boolean;
    readonly signal: AbortSignal;
  }): Promise<Map<string, DirtyPath> | undefined> {
    const output = await this.#run(
      ["status", "--porcelain=v2", "-z", "--no-renames", "--ignore-submodules=dirty", `--untracked-files=${untracked ? "all" : "no"}`],
      signal,
    );
    return output && readStatus(output);
  }

  /** How many lines of these paths differ from the commit. Binary files have none. */
  async lineCounts(paths: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, LineCounts>> {
    if (paths.length === 0) return new Map();
    const output = await this.#run(
      [
        "diff",
        "--numstat",
        "-z",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--ignore-submodules=dirty",
        this.#base,
        "--",
        ...paths,
      ],
      signal,
    );
    return readCounts(output ?? Buffer.alloc(0));
  }

  async #run(args: readonly string[], signal: AbortSignal): Promise<Buffer | undefined> {
    const launch = this.#sandbox.wrap([this.#git, "--no-pager", ...args], {
      policy: { type: "read-only" },
      workspace: this.root,
      cwd: this.root,
      env: this.#environment,
      caller: this.#view,
      unlimited: true,
    });
    const parts: Buffer[] = [];
    let bytes = 0;
    const tooMuch = new AbortController();
    const command = runCommand(launch, {
      signal: AbortSignal.any([signal, tooMuch.signal]),
      onOutput: (stream, chunk) => {
        if (stream !== "stdout") return;
        bytes += chunk.length;
        if (bytes > LARGEST_OUTPUT) tooMuch.abort();
        else parts.push(Buffer.from(chunk));
      },
    });
    const { ended, exitCode } = await command.result;
    return ended === "exited" && exitCode === 0 && bytes <= LARGEST_OUTPUT ? Buffer.concat(parts) : undefined;
  }

  close(host: LookingHost): void {
    host.removeTemporaryFolder(this.#folder);
  }
}

/** The machine as commands of the turn see it, with a folder of ours in the place of the temporary one. */
function viewFor(
  lookingFor: LookingFor,
  { env, shown, tmp }: { readonly env: NodeJS.ProcessEnv; readonly shown: readonly string[]; readonly tmp: () => string },
): CallerView {
  if (!lookingFor) return { hidden: [{ folder: "/tmp" }], shown, tmp };
  return callerView({ ...lookingFor, env, tmp });
}

const LARGEST_CONFIG = 256 * 1024;
const BOOLEAN_KEYS = ["filemode", "ignorecase", "symlinks", "precomposeunicode"] as const;

/** Of the repository's own configuration only what says how its files are stored. */
function ownConfig(config: string, { exclude, isSha256 }: { readonly exclude: string; readonly isSha256: boolean }): string {
  const taken = BOOLEAN_KEYS.flatMap((key) => {
    const value = new RegExp(`^\\s*${key}\\s*=\\s*(true|false)\\s*$`, "im").exec(config)?.[1];
    return value === undefined ? [] : [`\t${key} = ${value.toLowerCase()}`];
  });
  const eol = /^\s*autocrlf\s*=\s*(true|false|input)\s*$/im.exec(config)?.[1];
  return [
    "[core]",
    `\trepositoryformatversion = ${isSha256 ? 1 : 0}`,
    "\tbare = false",
    "\tfsmonitor = false",
    "\tquotepath = false",
    `\texcludesFile = ${quoted(exclude)}`,
    ...taken,
    ...(eol === undefined ? [] : [`\tautocrlf = ${eol.toLowerCase()}`]),
    ...(isSha256 ? ["[extensions]", "\tobjectformat = sha256"] : []),
    "",
  ].join("\n");
}

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, "\\$&").replace(/\n/g, "\\n")}"`;
}

function layOut(folder: string, { config, commit }: { readonly config: string; readonly commit: string | undefined }): void {
  mkdirSync(path.join(folder, "objects"));
  mkdirSync(path.join(folder, "refs"));
  writeFileSync(path.join(folder, "config"), config, { mode: 0o600 });
  writeFileSync(path.join(folder, "HEAD"), `${commit ?? "ref: refs/heads/none"}\n`, { mode: 0o600 });
}

/** An index has about a hundred bytes for each file. */
function isSmallIndex(index: string): boolean {
  return (statSync(index, { throwIfNoEntry: false })?.size ?? 0) <= FEW_FILES * 100;
}

/** Records end with NUL; the path is what follows the eighth space (`1`), the tenth (`u`) or the first (`?`). */
function readStatus(output: Buffer): Map<string, DirtyPath> {
  const dirty = new Map<string, DirtyPath>();
  for (const record of output.toString().split("\0")) {
    const fields = { "1": 8, u: 10, "?": 1 }[record[0] ?? ""];
    if (fields === undefined) continue;
    const words = record.split(" ");
    const isCommitted = record[0] !== "?" && words[1]?.[0] !== "A";
    dirty.set(words.slice(fields).join(" "), { isCommitted });
  }
  return dirty;
}

function readCounts(output: Buffer): Map<string, LineCounts> {
  const counts = new Map<string, LineCounts>();
  for (const record of output.toString().split("\0")) {
    const [, added, removed, file] = /^(\d+)\t(\d+)\t([\s\S]+)$/.exec(record) ?? [];
    if (file !== undefined) counts.set(file, { added: Number(added), removed: Number(removed) });
  }
  return counts;
}
