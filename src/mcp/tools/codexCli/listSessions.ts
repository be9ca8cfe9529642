import type { NamedSession } from "../../../threads/namedSession.js";
import { answer } from "../../wording/callResult.js";
import { defineTool } from "../tool.js";
import { parseCliArguments } from "./cliArguments.js";
import { type CliTool, cliRefusal } from "./cliResults.js";

const TOOL: CliTool = { name: "listSessions", attempt: "Failed to list sessions" };

/** The caller's named sessions. */
export const listSessionsCliTool = defineTool({
  name: TOOL.name,
  title: "List Sessions",
  description: "Lists the sessions of `codex` that are still known, the one used last first.",
  input: {},
  annotations: { title: "List Sessions", readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  sets: ["codex-cli"],
  order: 5,
  listsNothingRequired: true,
  ignoresUnknown: true,
  parse: parseCliArguments,
  refusal: cliRefusal(TOOL),
  answers: "a JSON array of `id`, `createdAt`, `lastAccessedAt`, `turnCount`, or `No active sessions`",
  example: {},
  async call(_, { sessions, ask }) {
    const found = await sessions.list(ask);
    return answer(found.length === 0 ? "No active sessions" : JSON.stringify(found.map(shown), null, 2));
  },
});

function shown({ id, createdAt, lastUsedAt, turnCount }: NamedSession): object {
  return { id, createdAt: new Date(createdAt).toISOString(), lastAccessedAt: new Date(lastUsedAt).toISOString(), turnCount };
}
