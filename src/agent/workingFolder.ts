import { type Stats, statSync } from "node:fs";
import path from "node:path";
import { AppError, describe, errorCode } from "../lib/errors.js";
import { resolveLinks } from "../platform/paths.js";
import type { ThreadSettings } from "../threads/settings.js";

/** Nothing can run in the folder that the call names. */
class FolderUnusable extends AppError {
  readonly code = "cwd_unusable";
}

/** The call names no folder, and the default folder is unsuitable for a turn that may write. */
export class FolderNotNamed extends AppError {
  readonly code = "cwd_not_named";

  constructor(
    folder: string,
    /** The folders of the caller's most recent threads, newest first. */
    readonly recent: readonly string[],
  ) {
    super(
      `No \`cwd\` was named, and this server was started in ${folder}: a turn that may write could change anything there. ` +
        "Name the folder to work in as `cwd`, or ask with `sandbox: read-only`.",
    );
  }
}

/** The working folder of calls that name none. */
interface DefaultFolder {
  readonly home: string;
  /** Set by the operator with `--cd`. */
  readonly isChosen: boolean;
}

/** Checks of working folders that apply to all callers. */
export class WorkingFolders {
  readonly #default: DefaultFolder;

  constructor(defaultFolder: DefaultFolder) {
    this.#default = defaultFolder;
  }

  /** Throws `FolderUnusable` unless it is an accessible folder. */
  checkUsable(folder: string): void {
    const stats = statsOf(folder);
    if (stats === undefined)
      throw new FolderUnusable(`The working directory ${folder} does not exist. Name an existing directory as \`cwd\`.`);
    if (!stats.isDirectory())
      throw new FolderUnusable(`The working directory ${folder} is not a directory but a file. Name its directory as \`cwd\`.`);
  }

  /** Clients often start servers in `/` or in the home folder by default. A call must name such a folder before a turn may write there. */
  mustBeNamed({ cwd, sandboxPolicy }: ThreadSettings): boolean {
    const { home, isChosen } = this.#default;
    if (isChosen || sandboxPolicy.type === "read-only") return false;
    const real = resolveLinks(cwd) ?? cwd;
    return real === path.parse(real).root || real === (resolveLinks(home) ?? home);
  }
}

function statsOf(folder: string): Stats | undefined {
  try {
    return statSync(folder, { throwIfNoEntry: false });
  } catch (error) {
    // A parent of the path is a file.
    if (errorCode(error) === "ENOTDIR") return undefined;
    throw new FolderUnusable(
      `The working directory ${folder} cannot be used (${errorCode(error) ?? describe(error)}). Name another one as \`cwd\`.`,
      { cause: error },
    );
  }
}
