import { callersInside, type Objection, toolsFor } from "../inside.js";
import type { ToolDeclaration } from "../tools/tool.js";
import { EVENTS_EXTENSION, STATELESS_REVISIONS, TASKS_EXTENSION } from "./claim.js";
import type { StatelessMethod } from "./request.js";

/** What a client may keep an answer for. The tools are the same as long as the server runs; whoever is inside a turn has others, for itself. */
const DISCOVERY_TTL_MS = 3_600_000;
const LIST_TTL_MS = 300_000;

interface Introduction {
  readonly engine: string;
  readonly instructions: string;
  readonly objection: Objection;
}

export function discover({ engine, instructions, objection }: Introduction): StatelessMethod {
  return async ({ caller }) => ({
    supportedVersions: STATELESS_REVISIONS,
    capabilities: { tools: { listChanged: true }, logging: {}, extensions: { [TASKS_EXTENSION]: {}, [EVENTS_EXTENSION]: {} } },
    instructions: objection(caller) ?? instructions,
    ttlMs: DISCOVERY_TTL_MS,
    cacheScope: caller?.inside ? "private" : "public",
    _meta: { "codex-mcpd/engine": engine },
  });
}

export function listTools(tools: readonly ToolDeclaration[], objection: Objection = callersInside): StatelessMethod {
  return async ({ caller }) => ({
    tools: toolsFor(caller, tools, objection),
    ttlMs: LIST_TTL_MS,
    cacheScope: caller?.inside ? "private" : "public",
  });
}
