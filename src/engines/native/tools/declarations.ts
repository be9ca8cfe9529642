import type { ThreadSettings } from "../../../threads/settings.js";
import { traitsOf } from "../model/modelTraits.js";
import type { Declaration } from "./tool.js";

const WORKDIR = { type: "string", description: "Folder to run in; the working directory unless given." };
const TIMEOUT = { type: "number", description: "Milliseconds after which the command is ended (default 10000)." };
const ESCALATION = {
  sandbox_permissions: {
    type: "string",
    description: "`require_escalated` asks for the command to run outside the sandbox; `use_default` otherwise.",
  },
  justification: { type: "string", description: "With `require_escalated`: one sentence for the user on why it is needed." },
};

const SHELL: Declaration = {
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

const SHELL_COMMAND: Declaration = {
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

const YIELD = { type: "number", description: "Milliseconds to wait for output before answering." };
const MAX_OUTPUT = { type: "number", description: "How many tokens of output to return at most (default 10000)." };

const EXEC_COMMAND: Declaration = {
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

const WRITE_STDIN: Declaration = {
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

export const UPDATE_PLAN: Declaration = {
  type: "function",
  name: "update_plan",
  description: "Shows the plan for this task and how far it is. Send the whole list each time; at most one step is in progress.",
  strict: false,
  parameters: {
    type: "object",
    properties: {
      explanation: { type: "string", description: "Why the plan changed, if it did." },
      plan: {
        type: "array",
        description: "All steps, in order.",
        items: {
          type: "object",
          properties: {
            step: { type: "string", description: "What is done in this step, in a few words." },
            status: { type: "string", enum: ["pending", "in_progress", "completed"] },
          },
          required: ["step", "status"],
          additionalProperties: false,
        },
      },
    },
    required: ["plan"],
    additionalProperties: false,
  },
};

/**
 * The patch format as a Lark grammar that constrains the model's output. Stricter than the parser: no blank lines between sections, no
 * empty new files, and a prefix on every line of a chunk.
 */
export const PATCH_GRAMMAR = `start: "*** Begin Patch" LF section+ "*** End Patch" LF?

section: added | deleted | updated
added: "*** Add File: " path LF new_line+
deleted: "*** Delete File: " path LF
updated: "*** Update File: " path LF moved? first_chunk chunk*
moved: "*** Move to: " path LF

first_chunk: anchor? lines
chunk: anchor lines
anchor: "@@" (" " heading)? LF
lines: line+ at_end?
at_end: "*** End of File" LF

line: kept_line | new_line | old_line
kept_line: / [^\\r\\n]*/ LF
new_line: /\\+[^\\r\\n]*/ LF
old_line: /-[^\\r\\n]*/ LF

path: /[^\\r\\n]+/
heading: /[^\\r\\n]+/

%import common.LF
`;

const DESCRIPTION =
  "Changes files by a patch. Name paths relative to the working directory; give a few unchanged lines around each change so that its place is clear.";

const FREEFORM_PATCH: Declaration = {
  type: "custom",
  name: "apply_patch",
  description: DESCRIPTION,
  format: { type: "grammar", syntax: "lark", definition: PATCH_GRAMMAR },
};

const FUNCTION_PATCH: Declaration = {
  type: "function",
  name: "apply_patch",
  description: `${DESCRIPTION} The patch begins with a line *** Begin Patch and ends with a line *** End Patch. In between, each file has a header (*** Add File: PATH, *** Delete File: PATH, or *** Update File: PATH, optionally followed by *** Move to: PATH). Lines of an added file begin with +. An update consists of chunks, each introduced by a line @@ (or @@ and a line of the file that precedes the change), whose lines begin with a space (kept), - (removed) or + (added).`,
  strict: false,
  parameters: {
    type: "object",
    properties: { input: { type: "string", description: "The whole patch." } },
    required: ["input"],
    additionalProperties: false,
  },
};

const VIEW_IMAGE: Declaration = {
  type: "function",
  name: "view_image",
  description: "Shows you an image file of the workspace.",
  strict: false,
  parameters: {
    type: "object",
    properties: { path: { type: "string", description: "The file; relative to the working directory, or absolute." } },
    required: ["path"],
    additionalProperties: false,
  },
};

/** The declarations of the built-in tools in Codex's order; `resources` are the tools for MCP resources. */
export function declaredTools(settings: ThreadSettings, resources: readonly Declaration[]): readonly Declaration[] {
  return [
    ...COMMANDS[commandToolsOf(settings)],
    ...resources,
    UPDATE_PLAN,
    ...PATCHES[patchToolOf(settings)],
    VIEW_IMAGE,
    ...webSearch(settings),
  ];
}

type CommandTools = "none" | ReturnType<typeof traitsOf>["shellTool"];
type PatchTool = ReturnType<typeof traitsOf>["patchTool"];

const COMMANDS: Readonly<Record<CommandTools, readonly Declaration[]>> = {
  none: [],
  sessions: [EXEC_COMMAND, WRITE_STDIN],
  shell: [SHELL],
  shell_command: [SHELL_COMMAND],
  local_shell: [{ type: "local_shell" }],
};
const PATCHES: Readonly<Record<PatchTool, readonly Declaration[]>> = {
  none: [],
  freeform: [FREEFORM_PATCH],
  function: [FUNCTION_PATCH],
};

/** The kind of tool with which the model runs commands. */
export function commandToolsOf(settings: ThreadSettings): CommandTools {
  const { features } = settings;
  if (features["shell_tool"] === false) return "none";
  return features["unified_exec"] ? "sessions" : traitsOf(settings).shellTool;
}

/** The kind of tool with which the model sends patches. */
export function patchToolOf(settings: ThreadSettings): PatchTool {
  if (settings.looksOnly) return "none";
  return settings.features["apply_patch_freeform"] ? "freeform" : traitsOf(settings).patchTool;
}

/** The provider runs the search. Only OpenAI is known to support it; for others it must be configured. */
function webSearch(settings: ThreadSettings): Declaration[] {
  const mode = settings.webSearch ?? searchFeature(settings) ?? (settings.provider.id === "openai" ? "cached" : "disabled");
  return mode === "disabled" ? [] : [{ type: "web_search", external_web_access: mode === "live" }];
}

function searchFeature({ features }: ThreadSettings): "live" | "cached" | undefined {
  if (features["web_search_request"]) return "live";
  return features["web_search_cached"] ? "cached" : undefined;
}
