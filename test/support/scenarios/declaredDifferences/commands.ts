import type { DeclaredDifferences } from "./ownSide.js";
import { commandEnd, outputForModel } from "./phrases.js";

const SANDBOX_WORDS = "Writing is refused by a read-only mount, so the command complains in other words; the reference used Landlock.";

/** A command whose write failed, with its error output. */
function failed(complaint: string): Record<string, unknown> {
  return {
    "raw_response_item of call 2": { "4.item.output": outputForModel(complaint, { exitCode: 1 }) },
    "exec_command_output_delta of call 2": { "0.text": complaint },
    "exec_command_end of call 2": commandEnd(complaint),
  };
}

const CANNOT_TOUCH = "touch: cannot touch 'made.txt': Read-only file system\n";

/** Results of commands. */
export const COMMANDS: DeclaredDifferences = {
  "exec-on-failure": {
    reason: SANDBOX_WORDS,
    ours: { contents: { "exec_command_output_delta of call 2": { "0.text": CANNOT_TOUCH } } },
  },
  "exec-on-request-read-only": { reason: SANDBOX_WORDS, ours: { contents: failed(CANNOT_TOUCH) } },
  "shell-never-read-only": {
    reason: SANDBOX_WORDS,
    ours: { contents: failed("bash: line 1: made.txt: Read-only file system\ncat: made.txt: No such file or directory\n") },
  },
};
