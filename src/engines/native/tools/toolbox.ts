import { truncateMiddle } from "../../../exec/modelOutput.js";
import type { ThreadEvent, ThreadSettings } from "../../../threads/model.js";
import { openMcpServers } from "../mcpServers/open.js";
import { traitsOf } from "../models.js";
import { freeformPatchTool, functionPatchTool } from "./applyPatch.js";
import { execTools } from "./execCommand.js";
import { planTool } from "./plan.js";
import { shellCommandTool, shellTools } from "./shell.js";
import type { Tool } from "./tool.js";
import { viewImageTool } from "./viewImage.js";
import type { Workbench } from "./workbench.js";

export type Declaration = Readonly<Record<string, unknown>>;

interface Waiting {
  readonly signal: AbortSignal;
}

/** The tools of one thread: our own, chosen by its model and features, and those of its MCP servers. */
export interface Toolbox {
  /** What the model is offered now, in Codex's order; the same array as long as nothing changed. */
  declarations(waiting: Waiting): Promise<readonly Declaration[]>;
  find(name: string, waiting: Waiting): Promise<Tool | undefined>;
  /** What happened to the servers since it was last asked. */
  news(): readonly ThreadEvent[];
  close(): Promise<void>;
}

export function openToolbox(bench: Workbench): Toolbox {
  const servers = openMcpServers(bench.settings.mcpServers, {
    env: bench.machine.env,
    cwd: bench.settings.cwd,
    ask: bench.fillIn,
    shorten: (text) => truncateMiddle(text, bench.truncation),
  });
  const own = ownTools(bench, servers.resources);
  let offered = { remote: [] as readonly Tool[], declarations: own.declarations };
  return {
    async declarations(waiting) {
      const remote = await servers.tools(waiting);
      if (remote !== offered.remote) offered = { remote, declarations: [...own.declarations, ...declarationsOf(remote)] };
      return offered.declarations;
    },
    find: async (name, waiting) => own.tools.get(name) ?? servers.find(name, waiting),
    news: () => servers.takeStartupNews(),
    close: () => servers.close(),
  };
}

function ownTools(
  bench: Workbench,
  resources: readonly Tool[],
): { declarations: readonly Declaration[]; tools: ReadonlyMap<string, Tool> } {
  const offered = [...commandTools(bench), ...resources, planTool, ...patchTools(bench), viewImageTool(bench)];
  const understood = [...shellTools(bench), shellCommandTool(bench)].map(
    (tool): Tool => ({ name: tool.name, run: (args, ctx) => tool.run(args, ctx) }),
  );
  const tools = new Map([...understood, ...offered].map((tool) => [tool.name, tool]));
  return { declarations: [...declarationsOf(offered), ...webSearch(bench)], tools };
}

function declarationsOf(tools: readonly Tool[]): Declaration[] {
  return tools.flatMap(({ declaration }) => (declaration ? [declaration] : []));
}

function commandTools(bench: Workbench): Tool[] {
  const { features, model } = bench.settings;
  if (features["shell_tool"] === false) return [];
  if (features["unified_exec"]) return execTools(bench);
  return traitsOf(model).shellTool === "shell_command" ? [shellCommandTool(bench)] : shellTools(bench);
}

function patchTools(bench: Workbench): Tool[] {
  const { features, model } = bench.settings;
  const kind = features["apply_patch_freeform"] ? "freeform" : traitsOf(model).patchTool;
  if (kind === "none") return [];
  return [kind === "freeform" ? freeformPatchTool(bench) : functionPatchTool(bench)];
}

/** The provider searches by itself. Only OpenAI's is known to; elsewhere it has to be asked for. */
function webSearch({ settings }: Workbench): Record<string, unknown>[] {
  const mode = settings.webSearch ?? searchFeature(settings) ?? (settings.provider.id === "openai" ? "cached" : "disabled");
  return mode === "disabled" ? [] : [{ type: "web_search", external_web_access: mode === "live" }];
}

function searchFeature({ features }: ThreadSettings): "live" | "cached" | undefined {
  if (features["web_search_request"]) return "live";
  return features["web_search_cached"] ? "cached" : undefined;
}
