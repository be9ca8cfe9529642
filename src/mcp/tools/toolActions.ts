import { lazily } from "../../lib/lazily.js";
import type { Agent } from "./agent.js";
import { OWN_TOOLS } from "./catalog.js";
import { codexTool } from "./codex.js";
import { codexReplyTool } from "./codexReply.js";
import type { ToolAction } from "./tool.js";

/** What each tool does with a call. */
export function toolActions(agent: Agent): ReadonlyMap<string, ToolAction> {
  const own = lazily(async () => (await import("./own/ownTools.js")).ownTools(agent));
  const loadedWithFirstCall =
    (name: string): ToolAction =>
    async (args, call) => {
      const action = (await own.get()).get(name);
      if (!action) throw new Error(`the tool ${name} is listed but does nothing`);
      return action(args, call);
    };
  return new Map([
    ["codex", codexTool(agent)],
    ["codex-reply", codexReplyTool(agent)],
    ...OWN_TOOLS.map(({ name }) => [name, loadedWithFirstCall(name)] as const),
  ]);
}
