import schemas from "./schemas.generated.json" with { type: "json" };
import type { ToolDeclaration } from "./tool.js";

/** Codex's own two tools, as its version 0.92.0 showed them. */
const CODEX_TOOLS: readonly ToolDeclaration[] = [
  {
    description:
      "Starts a coding agent on a task in a working directory and returns its final answer with the id of the thread it runs on.",
    inputSchema: schemas.codexInput,
    name: "codex",
    outputSchema: schemas.answer,
    title: "Codex",
  },
  {
    description: "Continues a thread that `codex` started, also one of an earlier run of this server, with its history and settings.",
    inputSchema: schemas.codexReplyInput,
    name: "codex-reply",
    outputSchema: schemas.answer,
    title: "Codex Reply",
  },
];

/** Ours. Every word of them is paid for by every client. */
export const OWN_TOOLS: readonly ToolDeclaration[] = [
  {
    name: "codex-review",
    title: "Codex Review",
    description: "Reviews changes in a git repository and returns the findings.",
    inputSchema: schemas.reviewInput,
    outputSchema: schemas.answer,
    annotations: { destructiveHint: false },
  },
  {
    name: "codex-steer",
    title: "Codex Steer",
    description: "Gives the turn that runs on a thread more to consider.",
    inputSchema: schemas.steerInput,
    annotations: { destructiveHint: false },
  },
  {
    name: "codex-compact",
    title: "Codex Compact",
    description: "Replaces the past of a long thread by a summary.",
    inputSchema: schemas.compactInput,
    outputSchema: schemas.answer,
  },
  {
    name: "codex-threads",
    title: "Codex Threads",
    description: "Lists, forks or archives threads.",
    inputSchema: schemas.threadsInput,
    annotations: { destructiveHint: false },
  },
  {
    name: "codex-exec",
    title: "Codex Exec",
    description: "Runs one command in a sandbox, without a model.",
    inputSchema: schemas.execInput,
    outputSchema: schemas.execAnswer,
  },
  {
    name: "codex-models",
    title: "Codex Models",
    description: "Lists the models that can be named.",
    inputSchema: schemas.modelsInput,
    annotations: { readOnlyHint: true },
  },
  {
    name: "codex-account",
    title: "Codex Account",
    description: "Tells or changes who is logged in to the model's provider.",
    inputSchema: schemas.accountInput,
  },
  {
    name: "codex-config",
    title: "Codex Config",
    description: "Shows the settings in force in a directory, secrets masked.",
    inputSchema: schemas.configInput,
    annotations: { readOnlyHint: true },
  },
];

/** `--tools`: the tools in the order clients see them. Static, so that listing them loads nothing of the agent. */
export const TOOL_SETS = { codex: [...CODEX_TOOLS, ...OWN_TOOLS], "codex-original": CODEX_TOOLS } as const;

/** Tools that begin nothing that lasts: they do not wait for a place among the turns, and a turn can be steered when no other may begin. */
const TAKE_NO_PLACE = new Set(["codex-steer", "codex-threads", "codex-models", "codex-account", "codex-config"]);

/**
 * Tools for whoever calls from inside a turn. They start nothing, change nothing, and tell nothing that the sandbox of the turn may keep from it:
 * threads, settings and accounts are somebody's.
 */
const SERVED_INSIDE = new Set(["codex-models"]);

export function isServedInside(tool: string): boolean {
  return SERVED_INSIDE.has(tool);
}

export function takesPlace(tool: string): boolean {
  return !TAKE_NO_PLACE.has(tool);
}
