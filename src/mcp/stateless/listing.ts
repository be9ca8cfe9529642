import type { ToolDeclaration } from "../tools/tool.js";
import { EVENTS_EXTENSION, STATELESS_REVISIONS, TASKS_EXTENSION } from "./claim.js";
import type { StatelessMethod } from "./request.js";

/** What a client may keep an answer for. The tools are the same as long as the server runs. */
const DISCOVERY_TTL_MS = 3_600_000;
const LIST_TTL_MS = 300_000;

export function discover({ engine, instructions }: { readonly engine: string; readonly instructions: string }): StatelessMethod {
  return async () => ({
    supportedVersions: STATELESS_REVISIONS,
    capabilities: { tools: { listChanged: true }, logging: {}, extensions: { [TASKS_EXTENSION]: {}, [EVENTS_EXTENSION]: {} } },
    instructions,
    ttlMs: DISCOVERY_TTL_MS,
    cacheScope: "public",
    _meta: { "codex-mcpd/engine": engine },
  });
}

export function listTools(tools: readonly ToolDeclaration[]): StatelessMethod {
  return async () => ({ tools, ttlMs: LIST_TTL_MS, cacheScope: "public" });
}
