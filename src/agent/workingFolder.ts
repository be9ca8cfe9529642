import { type Stats, statSync } from "node:fs";
import path from "node:path";
import { AppError, describe, errorCode } from "../lib/errors.js";
import { resolveLinks } from "../platform/paths.js";
import type { ThreadSettings } from "../threads/settings.js";

/** The folder that a call names is none that anything could run in. */
class FolderUnusable extends AppError {
  readonly code = "cwd_unusable";
}

/** Nobody named a folder, and the one that is left is no place for a turn that may write. */
export class FolderNotNamed extends AppError {
  readonly code = "cwd_not_named";

  constructor(
    folder: string,
    /** Folders of the caller's last threads, newest first. */
    readonly recent: readonly string[],
  ) {
    super(
      `No \`cwd\` was named, and this server was started in ${folder}: a turn that may write could change anything there. ` +
        "Name the folder to work in as `cwd`, or ask with `sandbox: read-only`.",
    );
  }
}

/** What stands for the working folder where nobody names one. */
interface DefaultFolder {
  readonly home: string;
  /** Whoever started the server chose it (`--cd`). */
  readonly isChosen: boolean;
}

/** Where threads may work, as far as it is the same for everybody. */
export class WorkingFolders {
  readonly #default: DefaultFolder;

  constructor(defaultFolder: DefaultFolder) {
    this.#default = defaultFolder;
  }

  /** Throws `FolderUnusable` unless it is a folder that can be entered. */
  checkUsable(folder: string): void {
    const stats = statsOf(folder);
    if (stats === undefined)
      throw new FolderUnusable(`The working directory ${folder} does not exist. Name an existing directory as \`cwd\`.`);
    if (!stats.isDirectory())
      throw new FolderUnusable(`The working directory ${folder} is not a directory but a file. Name its directory as \`cwd\`.`);
  }

  /** Clients start servers in `/` or in the home folder without meaning anything by it. Such a place must be named to be written. */
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
    // Something above it is a file.
    if (errorCode(error) === "ENOTDIR") return undefined;
    throw new FolderUnusable(
      `The working directory ${folder} cannot be used (${errorCode(error) ?? describe(error)}). Name another one as \`cwd\`.`,
      { cause: error },
    );
  }
}
