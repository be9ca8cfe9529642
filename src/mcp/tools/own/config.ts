import { checkScope } from "../../../agent/scopes.js";
import type { Agent } from "../agent.js";
import { parseArguments, type ToolStruct } from "../arguments.js";
import schemas from "../schemas.generated.json" with { type: "json" };
import type { ConfigArguments } from "../schemas.js";
import type { ToolAction } from "../tool.js";
import { answer, PROMPTLY, refusing, servicesOf } from "./answers.js";
import { within } from "./within.js";

const ARGUMENTS: ToolStruct<ConfigArguments> = { schema: schemas.configInput, tool: "codex-config" };

/** `codex-config`: the settings in force in a folder. */
export function configTool(agent: Agent): ToolAction {
  return refusing(async (args, call) => {
    const { cwd } = parseArguments(args, ARGUMENTS);
    checkScope(call.caller, "manage");
    const folder = agent.settingsFor({ cwd }, call.caller).cwd;
    const config = await within(PROMPTLY, call, async () => (await servicesOf(agent)).config(folder));
    return answer(JSON.stringify(config, null, 2), { config });
  });
}
