import { givesStructured } from "../structuredSwitch.js";
import { arg, defineTool } from "../tool.js";
import { parseCliArguments } from "./cliArguments.js";
import { type CliTool, cliRefusal, cliTurn } from "./cliResults.js";

const TOOL: CliTool = { name: "websearch", attempt: "Failed to execute web search" };
const DEPTHS = ["basic", "full"] as const;
const USUAL_RESULTS = 10;

/** A question that the model answers by searching the web. */
export const websearchCliTool = defineTool({
  name: TOOL.name,
  title: "Web Search",
  description: "Has Codex search the web and returns what it found. It changes nothing.",
  input: {
    query: arg.text("What to search for."),
    numResults: arg.optional(arg.whole({ from: 1, to: 50 }, `How many findings (${USUAL_RESULTS}).`)),
    searchDepth: arg.optional(arg.choice(DEPTHS, "basic (default), or full with analysis and context.")),
  },
  annotations: { title: "Web Search", readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  sets: ["codex-cli"],
  order: 6,
  listsNothingRequired: true,
  ignoresUnknown: true,
  parse: parseCliArguments,
  refusal: cliRefusal(TOOL),
  answers: "the findings; `_meta` of the text has `query`, `numResults`, `searchDepth`, `timestamp`",
  example: { query: "time zones in ECMAScript Temporal", numResults: 5 },
  async call({ query, numResults = USUAL_RESULTS, searchDepth = "basic" }, { agent, ask, turnId, env }) {
    const more = searchDepth === "full" ? " Include detailed analysis and context." : "";
    const text = `Search for: ${query}. Provide ${numResults} key findings.${more}`;
    const members = { query, numResults, searchDepth };
    return {
      turn: await agent.begin(ask, { text }, { looksOnly: true, searchesWeb: true, turnId }),
      startText: `Searching for: ${query}...`,
      present: cliTurn({
        ...TOOL,
        ifSilent: "No search output from Codex",
        structured: givesStructured(env),
        members: () => ({ ...members, timestamp: new Date().toISOString() }),
      }),
    };
  },
});
