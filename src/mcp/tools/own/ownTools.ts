import type { Agent } from "../agent.js";
import type { ToolAction } from "../tool.js";
import { accountTool } from "./account.js";
import { compactTool } from "./compact.js";
import { configTool } from "./config.js";
import { execTool } from "./exec.js";
import { modelsTool } from "./models.js";
import { reviewTool } from "./review.js";
import { steerTool } from "./steer.js";
import { threadsTool } from "./threads.js";

/** What this server does beyond the two tools of Codex. Loaded when the first of them is called. */
export function ownTools(agent: Agent): ReadonlyMap<string, ToolAction> {
  return new Map([
    ["codex-review", reviewTool(agent)],
    ["codex-steer", steerTool(agent)],
    ["codex-compact", compactTool(agent)],
    ["codex-threads", threadsTool(agent)],
    ["codex-exec", execTool(agent)],
    ["codex-models", modelsTool(agent)],
    ["codex-account", accountTool(agent)],
    ["codex-config", configTool(agent)],
  ]);
}
