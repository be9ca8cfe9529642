import { APPROVALS } from "./declaredDifferences/approvals.js";
import { COMMANDS } from "./declaredDifferences/commands.js";
import { ENDINGS } from "./declaredDifferences/endings.js";
import type { DeclaredDifferences } from "./declaredDifferences/ownSide.js";
import { REQUESTS } from "./declaredDifferences/requests.js";

/** Where we leave the recordings on purpose, scenario by scenario. */
export const DECLARED_DIFFERENCES: DeclaredDifferences = { ...REQUESTS, ...ENDINGS, ...APPROVALS, ...COMMANDS };

/** Scenarios that are not played yet, and what they need. */
export const NOT_YET_PLAYED: Readonly<Record<string, string>> = {
  "mcp-server-fails": "the agent's own MCP servers",
  "mcp-tool-call": "the agent's own MCP servers",
};
