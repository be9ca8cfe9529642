import { realpathSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { gitSettings } from "../../lib/files/gitConfig.js";
import { findCheckout, gitFoldersOf, isCheckout, readGitCheckout } from "../../lib/files/gitFiles.js";
import { readGuarded } from "../../lib/files/guardedRead.js";
import { smallFileIfAny } from "../../lib/files/smallFile.js";
import { isBelow, resolveLinks } from "../../platform/paths.js";
import { systemProgram } from "../outside/outsidePrograms.js";
import { runCommand } from "../run.js";
import type { Sandbox } from "../sandbox/backend.js";
import { mayReadFor } from "../sandbox/fileView.js";
import { type CallerFolders, type CallerView, callerView, type HiddenPlace } from "../sandbox/hiddenPlaces.js";
import { type DirtyPath, readObjects, readStatus } from "./gitOutput.js";
import { writeOwnGitFolder } from "./ownGitFolder.js";

/** The parts of the host that are needed to examine a workspace. */
export interface LookingHost {
  readonly env: NodeJS.ProcessEnv;
  readonly hidden: readonly HiddenPlace[];
  readonly ownPrograms: readonly string[];
  sandbox(): Promise<Sandbox>;
  makeTemporaryFolder(): string;
  removeTemporaryFolder(folder: string): void;
}

/** The caller's view of files; absent for the server's own user. */
export type LookingFor = Pick<CallerFolders, "folders" | "foreign"> | undefined;

/** A report about more paths than this is of no use. */
const LARGEST_OUTPUT = 4 * 1024 * 1024;
/** Each path is examined on the disk several times, synchronously, and a longer report would be of no use. */
const MOST_DIRTY = 20_000;
/** Up to this number of tracked files, git examines all of them within milliseconds. */
const FEW_FILES = 5_000;
/** Each inner repository costs two more runs of git. */
const MOST_INNER = 8;
/** Each name in `.gitmodules` is looked up on the disk synchronously, and anyone can write that file. */
const MOST_CLAIMS = 200;
/** Where our own folder appears in the sandbox. */
const OWN_FOLDER = "/tmp";
/** The file in that folder with git's standard input. */
const WANTED = "wanted";

/**
 * A repository as git sees it, compared with the commit that was current when this was opened. Git runs in the sandbox, only reads, and
 * uses a configuration of ours: nothing that the repository configures (hooks, filters, monitors, drivers, helpers) is ever started, and
 * its index is never written.
 */
export class Repository {
  readonly #git: string;
  readonly #sandbox: Sandbox;
  readonly #folder: string;
  readonly #view: CallerView;
  /** Git's own folder; those of submodules are in it. */
  readonly #common: string;
  readonly #environment: Readonly<Record<string, string>>;

  private constructor(
    readonly root: string,
    /** Examining the whole repository is cheap. */
    readonly isSmall: boolean,
    parts: {
      git: string;
      sandbox: Sandbox;
      folder: string;
      view: CallerView;
      common: string;
      environment: Readonly<Record<string, string>>;
    },
  ) {
    this.#git = parts.git;
    this.#sandbox = parts.sandbox;
    this.#folder = parts.folder;
    this.#view = parts.view;
    this.#common = parts.common;
    this.#environment = parts.environment;
  }

  /** Undefined where there is no repository, or none that git may be run on. */
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
    try {
      const view = viewFor(lookingFor, { env: host.env, shown: [root, own, common], tmp: () => folder });
      prepare(folder, { host, root, common, view });
      const environment = environmentOf({ git, root, own, common });
      return new Repository(root, isSmallIndex(path.join(own, "index")), { git, sandbox, folder, view, common, environment });
    } catch (error) {
      host.removeTemporaryFolder(folder);
      throw error;
    }
  }

  /** The paths that differ from the commit. Undefined when git fails or takes too long, or there are too many. */
  async dirtyPaths(signal: AbortSignal): Promise<Map<string, DirtyPath> | undefined> {
    const output = await this.#run(
      ["status", "--porcelain=v2", "-z", "--no-renames", "--ignore-submodules=dirty", "--untracked-files=all"],
      signal,
    );
    const dirty = output && readStatus(output);
    return dirty && dirty.size <= MOST_DIRTY ? dirty : undefined;
  }

  /** The given paths that are in the index. Undefined when git fails or takes too long. */
  async tracked(paths: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string> | undefined> {
    const below = paths.filter((file) => isBelow(file, this.root));
    if (below.length === 0) return new Set();
    const output = await this.#run(["ls-files", "-z", "--cached", "--", ...below.map((file) => path.relative(this.root, file))], signal);
    return (
      output &&
      new Set(
        output
          .toString()
          .split("\0")
          .map((name) => path.join(this.root, name)),
      )
    );
  }

  /** Whether git leaves out everything in this folder, so that it shows no change there. */
  async ignores(folder: string, signal: AbortSignal): Promise<boolean> {
    const name = `./${path.relative(this.root, folder)}`;
    return (await this.#run(["--no-literal-pathspecs", "check-ignore", "--quiet", "--", name], signal)) !== undefined;
  }

  /** The folders of submodules, and of untracked repositories among the given paths, whose git folders are not another project's. */
  async innerFolders(dirty: Iterable<string>, mayRead: (file: string) => boolean): Promise<readonly string[]> {
    const list = await readGuarded(path.join(this.root, ".gitmodules"), { maxBytes: LARGEST_CONFIG, larger: "refuse", mayRead }).catch(
      () => undefined,
    );
    const settings = [...gitSettings(list?.bytes.toString() ?? "")];
    const named = settings.flatMap(({ key, value }) => (key === "path" ? [path.join(this.root, value)] : []));
    // Git ends only the paths of repositories with a slash.
    const untracked = [...dirty].flatMap((name) => (name.endsWith("/") ? [path.join(this.root, name.slice(0, -1))] : []));
    const examined = [...new Set([...named, ...untracked])].slice(0, MOST_CLAIMS);
    return examined.filter((folder) => this.#isOwn(folder)).slice(0, MOST_INNER);
  }

  #isOwn(folder: string): boolean {
    if (!isBelow(folder, this.root) || !isCheckout(folder)) return false;
    const own = gitFoldersOf(folder)?.own;
    const [real, realOwn] = [resolveLinks(folder), own && resolveLinks(own)];
    return real === folder && realOwn !== undefined && (isBelow(realOwn, this.#common) || isBelow(realOwn, folder));
  }

  /**
   * The committed content of these object ids, as far as it is text and not too large. Looked up by id rather than compared with the
   * commit: in a repository of 50,000 files, that comparison takes git seconds, however few paths are named.
   */
  async texts(ids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0) return new Map();
    writeFileSync(path.join(this.#folder, WANTED), ids.map((id) => `${id}\n`).join(""), { mode: 0o600 });
    const output = await this.#run(["cat-file", "--batch"], signal);
    return output ? readObjects(output) : new Map();
  }

  async #run(args: readonly string[], signal: AbortSignal): Promise<Buffer | undefined> {
    // The shell is only needed for the redirection; every word it runs is ours.
    const launch = this.#sandbox.wrap(["/bin/sh", "-c", `exec "$0" "$@" < ${OWN_FOLDER}/${WANTED}`, this.#git, ...args], {
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

interface RepositoryPlaces {
  readonly host: LookingHost;
  readonly root: string;
  readonly common: string;
  readonly view: CallerView;
}

/** Prepares a folder of ours that git treats as the repository's own `.git`. */
function prepare(folder: string, { host, root, common, view }: RepositoryPlaces): void {
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
  const commit = readGitCheckout(root, mayRead)?.commit_hash;
  writeOwnGitFolder(folder, { config, exclude: path.join(common, "info", "exclude"), commit });
  writeFileSync(path.join(folder, WANTED), "", { mode: 0o600 });
}

function environmentOf(parts: Readonly<Record<"git" | "root" | "own" | "common", string>>): Readonly<Record<string, string>> {
  return {
    PATH: path.dirname(parts.git),
    HOME: OWN_FOLDER,
    LC_ALL: "C",
    GIT_DIR: OWN_FOLDER,
    GIT_WORK_TREE: parts.root,
    GIT_INDEX_FILE: path.join(parts.own, "index"),
    GIT_OBJECT_DIRECTORY: path.join(parts.common, "objects"),
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_NO_REPLACE_OBJECTS: "1",
    GIT_NO_LAZY_FETCH: "1",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_LITERAL_PATHSPECS: "1",
    GIT_TERMINAL_PROMPT: "0",
  };
}

/** The turn's view of the file system, with a folder of ours as its temporary folder. */
function viewFor(
  lookingFor: LookingFor,
  { env, shown, tmp }: { readonly env: NodeJS.ProcessEnv; readonly shown: readonly string[]; readonly tmp: () => string },
): CallerView {
  if (!lookingFor) return { hidden: [{ folder: "/tmp" }], shown, tmp };
  return callerView({ ...lookingFor, env, tmp });
}

const LARGEST_CONFIG = 256 * 1024;

/** An index has about a hundred bytes per file. */
function isSmallIndex(index: string): boolean {
  return (statSync(index, { throwIfNoEntry: false })?.size ?? 0) <= FEW_FILES * 100;
}
