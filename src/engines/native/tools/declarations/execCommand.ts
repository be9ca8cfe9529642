import type { Declaration } from "../tool.js";

const YIELD = { type: "number", description: "Milliseconds to wait for output before answering." };
const MAX_OUTPUT = { type: "number", description: "How many tokens of output to return at most (default 10000)." };

export const EXEC_COMMAND: Declaration = {
  type: "function",
  name: "exec_command",
  description: "Runs a script in a shell. Answers with its output, or, when it still runs by then, with a session id for write_stdin.",
  strict: false,
  parameters: {
    type: "object",
    properties: {
      cmd: { type: "string", description: "The script." },
      workdir: { type: "string", description: "Folder to run in; the working directory unless given." },
      shell: { type: "string", description: "The shell; the user's unless given." },
      login: { type: "boolean", description: "Whether the shell reads the login profile (default true)." },
      tty: { type: "boolean", description: "Whether it gets a terminal and keeps its input open (default false)." },
      yield_time_ms: YIELD,
      max_output_tokens: MAX_OUTPUT,
      sandbox_permissions: { type: "string", description: "`require_escalated` asks to run outside the sandbox; `use_default` otherwise." },
      justification: { type: "string", description: "With `require_escalated`: one sentence for the user on why it is needed." },
    },
    required: ["cmd"],
    additionalProperties: false,
  },
};

export const WRITE_STDIN: Declaration = {
  type: "function",
  name: "write_stdin",
  description: "Writes to a command that exec_command left running, or waits for more of its output.",
  strict: false,
  parameters: {
    type: "object",
    properties: {
      session_id: { type: "number", description: "As exec_command named it." },
      chars: { type: "string", description: "What to write; empty to only wait." },
      yield_time_ms: YIELD,
      max_output_tokens: MAX_OUTPUT,
    },
    required: ["session_id"],
    additionalProperties: false,
  },
};
