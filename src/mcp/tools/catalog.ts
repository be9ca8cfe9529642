import schemas from "./schemas.generated.json" with { type: "json" };
import type { ToolDeclaration } from "./tool.js";

/** The tools in the order clients see them. Static, so that listing them loads nothing of the agent. */
export const CATALOG: readonly ToolDeclaration[] = [
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
