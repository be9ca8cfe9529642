import type { Declaration } from "../tool.js";

const WORKDIR = { type: "string", description: "Folder to run in; the working directory unless given." };
const TIMEOUT = { type: "number", description: "Milliseconds after which the command is ended (default 10000)." };
const ESCALATION = {
  sandbox_permissions: {
    type: "string",
    description: "`require_escalated` asks for the command to run outside the sandbox; `use_default` otherwise.",
  },
  justification: { type: "string", description: "With `require_escalated`: one sentence for the user on why it is needed." },
};

export const SHELL: Declaration = {
  type: "function",
  name: "shell",
  description:
    'Runs a program and returns its output. Use ["bash", "-lc", SCRIPT] for shell features, and set `workdir` instead of using cd.',
  strict: false,
  parameters: {
    type: "object",
    properties: {
      command: { type: "array", items: { type: "string" }, description: "The program and its arguments." },
      workdir: WORKDIR,
      timeout_ms: TIMEOUT,
      ...ESCALATION,
    },
    required: ["command"],
    additionalProperties: false,
  },
};

export const SHELL_COMMAND: Declaration = {
  type: "function",
  name: "shell_command",
  description: "Runs a script in the user's shell and returns its output. Set `workdir` instead of using cd.",
  strict: false,
  parameters: {
    type: "object",
    properties: {
      command: { type: "string", description: "The script." },
      workdir: WORKDIR,
      login: { type: "boolean", description: "Whether the shell reads the login profile (default true)." },
      timeout_ms: TIMEOUT,
      ...ESCALATION,
    },
    required: ["command"],
    additionalProperties: false,
  },
};
