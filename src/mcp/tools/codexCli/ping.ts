import { answer } from "../../wording/callResult.js";
import { arg, defineTool } from "../tool.js";
import { parseCliArguments } from "./cliArguments.js";
import { type CliTool, cliRefusal } from "./cliResults.js";

const TOOL: CliTool = { name: "ping", attempt: "Failed to execute ping command" };

/** Returns its argument. */
export const pingCliTool = defineTool({
  name: TOOL.name,
  title: "Ping Server",
  description: "Answers at once, to show that the server is there.",
  input: { message: arg.optional(arg.text("What to answer (pong).")) },
  annotations: { title: "Ping Server", readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  sets: ["codex-cli"],
  order: 3,
  listsNothingRequired: true,
  servedInside: true,
  ignoresUnknown: true,
  parse: parseCliArguments,
  refusal: cliRefusal(TOOL),
  answers: "`message`, or `pong`",
  example: { message: "Hello, server!" },
  call: async ({ message = "pong" }) => answer(message),
});
