import { AppError } from "../lib/errors.js";
import { shownPath } from "../lib/files/rawNames.js";

/** Nothing was run: the working folder does not exist. */
export class WorkingFolderMissing extends AppError {
  readonly code = "working_folder_missing";
  readonly isOther: boolean;
  /** `isOther`: the path exists but is not a folder. */
  constructor(
    readonly folder: string,
    { isOther = false }: { readonly isOther?: boolean } = {},
  ) {
    super(`The command was not run: its working folder ${folder} does not exist or is not a folder.`);
    this.isOther = isOther;
  }
}

/** Nothing was run: the program is missing or cannot be executed. */
export class ProgramNotStarted extends AppError {
  readonly code = "program_not_started";
  constructor(
    readonly program: string,
    readonly reason: string,
  ) {
    super(`The command was not run: ${program}: ${reason}`);
  }
}

/** Nothing was run: this machine cannot enforce the policy. */
export class SandboxUnavailable extends AppError {
  readonly code = "sandbox_unavailable";
  constructor(readonly reason: string) {
    super(`The command was not run: no sandbox can be enforced on this machine (${reason}).`);
  }
}

/** The remedy where no sandbox works, for people who can change the machine. */
export const SANDBOX_REMEDY =
  process.platform === "linux"
    ? "install bubblewrap (`apt install bubblewrap`); `codex-mcp-server doctor` tells more"
    : "`codex-mcp-server doctor` tells more";

/** Why a command did not run, or needs approval, where no sandbox works: cause and remedy in one sentence. */
export const NO_SANDBOX = `no sandbox works on this machine, so commands run only when a person allows it; ${SANDBOX_REMEDY}`;

/** Nothing was run: the sandbox could not be tested, because the machine is short of something at the moment, such as open files. */
export class SandboxNotProbed extends AppError {
  readonly code = "sandbox_not_probed";
  constructor(readonly reason: string) {
    super(`Nothing was run: the sandbox could not be tested now (${reason}). Try again.`);
  }
}

/** Nothing was run: the sandbox worked when it was probed, but does not any more. */
export class SandboxFailed extends AppError {
  readonly code = "sandbox_failed";
  constructor(readonly reason: string) {
    super(`The command was not run: its sandbox could not be set up (${reason}).`);
  }
}

/** Nothing was run: a folder cannot be made writable without exposing more than that folder. */
export class RootRefused extends AppError {
  readonly code = "sandbox_root_refused";
}

/** A sandbox is prepared this often: servers with different homes remove each other's placeholders in folders that they share, such as /tmp. */
export const MOST_TRIES = 10;

/** Nothing was run: something moved, replaced or removed a folder between the preparation of the sandbox and its start. */
export class PlaceMoved extends AppError {
  readonly code = "sandbox_place_moved";
  constructor(place = "a folder") {
    super(`The command was not run: ${shownPath(place)} was moved, replaced or removed while the sandbox was set up. Try again.`);
  }
}
