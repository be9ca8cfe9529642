import { answer } from "../wording/callResult.js";
import { arg, defineTool } from "./tool.js";

/** The settings in force in a folder. */
export const configTool = defineTool({
  name: "codex-config",
  title: "Codex Config",
  description: "Shows the settings in force in a folder, secrets masked.",
  input: { cwd: arg.optional(arg.text("The folder the settings are for.")) },
  annotations: { readOnlyHint: true },
  sets: ["extras"],
  order: 23,
  answers: "the settings in force there, in the words of `config.toml`, secrets masked",
  example: { cwd: "." },
  async call({ cwd }, { agent, ask }) {
    const config = await agent.server.config(ask, cwd);
    return answer(JSON.stringify(config, null, 2), { config });
  },
});
