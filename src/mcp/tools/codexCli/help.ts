import { answer } from "../../wording/callResult.js";
import { defineTool } from "../tool.js";
import { parseCliArguments } from "./cliArguments.js";
import { type CliTool, cliRefusal } from "./cliResults.js";

const TOOL: CliTool = { name: "help", attempt: "Failed to execute help command" };

const WITHOUT_CODEX = `No Codex CLI was found on this machine; this server works without one.

Tools:
  codex         gives the agent a task; calls with the same sessionId go on with one conversation
  review        reviews uncommitted changes, a branch (base) or a commit
  websearch     searches the web
  listSessions  lists the sessions
  ping          answers at once

The server itself: codex-mcp-server --help, codex-mcp-server doctor
`;

/** The help text of the Codex CLI. */
export const helpCliTool = defineTool({
  name: TOOL.name,
  title: "Get Help",
  description: "Shows the help text of the Codex CLI on the server's machine.",
  input: {},
  annotations: { title: "Get Help", readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  sets: ["codex-cli"],
  order: 4,
  listsNothingRequired: true,
  ignoresUnknown: true,
  parse: parseCliArguments,
  refusal: cliRefusal(TOOL),
  answers: "the text of `codex --help`; without a Codex, our own",
  example: {},
  call: async (_, { codexHelp }) => answer((await codexHelp()) ?? WITHOUT_CODEX),
});
