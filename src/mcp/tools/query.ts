import { arg, checkPrompt, defineTool, TURN_OUTPUT, WAIT_ARGUMENT } from "./tool.js";

/** A question to a read-only agent. */
export const queryTool = defineTool({
  name: "codex-query",
  title: "Codex Query",
  description:
    "Asks Codex about code, for research or a second opinion. It cannot change anything and never asks: safe in plan mode, several at once. " +
    "Takes seconds to minutes. Ask more on the same thread with codex-reply.",
  input: {
    prompt: arg.text("The question, self-contained."),
    cwd: arg.optional(arg.text("Absolute path of the folder.")),
    model: arg.optional(arg.text("As in codex.")),
    wait: WAIT_ARGUMENT,
  },
  output: TURN_OUTPUT,
  annotations: { readOnlyHint: true },
  sets: ["codex"],
  order: 3,
  answers: "the agent's answer, and the `threadId`",
  example: { prompt: "Where are dates parsed, and do all places agree on the zone?", cwd: "." },
  async call({ prompt, cwd, model, wait }, { agent, ask, turnId }) {
    checkPrompt(prompt);
    return { turn: await agent.begin(ask, { text: prompt }, { cwd, model, looksOnly: true, turnId }), wait };
  },
});
