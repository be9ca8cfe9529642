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
const LINE = "abcdefghi\n";
const BIG_OUTPUT = `Total output lines: 6000\n\n${LINE.repeat(500)}…50000 chars truncated…${LINE.repeat(500)}`;

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
  "shell-big-output": {
    reason:
      "A command whose reader left is ended by SIGPIPE as in any shell; the reference ignored the signal, and the command complained.",
    ours: {
      contents: {
        "raw_response_item of call 2": { "4.item.output": outputForModel(BIG_OUTPUT, { exitCode: 0 }) },
        "exec_command_output_delta of call 2": [
          {
            "params.id": "2",
            type: "exec_command_output_delta",
            call_id: "<call 1 of 2>",
            stream: "stdout",
            text: LINE.repeat(6000),
          },
        ],
        "exec_command_end of call 2": {
          "0.stderr": "",
          "0.aggregated_output": LINE.repeat(6000),
          "0.formatted_output": BIG_OUTPUT,
        },
      },
    },
  },
};
