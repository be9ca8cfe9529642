import { parseThreadId } from "../../../lib/uuid.js";
import type { Agent } from "../agent.js";
import { parseArguments, type ToolStruct } from "../arguments.js";
import schemas from "../schemas.generated.json" with { type: "json" };
import type { SteerArguments } from "../schemas.js";
import type { ToolAction } from "../tool.js";
import { answer, PROMPTLY, refusing } from "./answers.js";
import { within } from "./within.js";

const ARGUMENTS: ToolStruct<SteerArguments> = { schema: schemas.steerInput, tool: "codex-steer" };

/** `codex-steer`: more for a turn that runs. Its answer goes to the call that began the turn. */
export function steerTool({ access, threads }: Agent): ToolAction {
  return refusing(async (args, call) => {
    const { threadId, prompt } = parseArguments(args, ARGUMENTS);
    const id = parseThreadId(threadId);
    await within(PROMPTLY, call, () => access.using(id, call, () => threads.steer(id, prompt)));
    return answer("Taken into the running turn.");
  });
}
