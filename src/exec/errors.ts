import { AppError } from "../lib/errors.js";

/** Nothing was run: the folder the command was to start in is not there. */
export class WorkingFolderMissing extends AppError {
  readonly code = "working_folder_missing";
  constructor(readonly folder: string) {
    super(`The command was not run: its working folder ${folder} does not exist or is no folder.`);
  }
}

/** Nothing was run: the program is not there or cannot be executed. */
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

/** Nothing was run: the sandbox worked when it was tried, and does not now. */
export class SandboxFailed extends AppError {
  readonly code = "sandbox_failed";
  constructor(readonly reason: string) {
    super(`The command was not run: its sandbox could not be set up (${reason}).`);
  }
}

/** Nothing was run: a folder that was to be writable cannot be opened without opening more than that. */
export class RootRefused extends AppError {
  readonly code = "sandbox_root_refused";
}
