import type { SettingsResolver } from "../config/resolve.js";
import { createNativeEngine, createScriptedEngine } from "../engines/native/engine.js";
import { VERSION } from "../lib/version.js";
import type { Agent } from "../mcp/tools/agent.js";
import { codexTool } from "../mcp/tools/codex.js";
import { codexReplyTool } from "../mcp/tools/codexReply.js";
import type { ToolAction } from "../mcp/tools/tool.js";
import { userAgent } from "../mcp/userAgent.js";
import { RolloutStore } from "../rollouts/store.js";
import { ThreadRegistry } from "../threads/threadRegistry.js";

export interface AgentOptions {
  readonly engine: "native" | "scripted";
  readonly codexHome: string;
  readonly env: NodeJS.ProcessEnv;
  readonly settings: SettingsResolver;
  readonly report: (line: string) => void;
}

/** The agent behind the tools: engine, store and threads, put together. Loaded when first needed. */
export interface OpenAgent {
  readonly actions: ReadonlyMap<string, ToolAction>;
  interruptAll(): void;
  /** Resolves when no turn runs and what was written is on disk. */
  settle(): Promise<void>;
  close(): void;
}

export function openAgent({ engine: name, codexHome, env, settings, report }: AgentOptions): OpenAgent {
  const engine =
    name === "scripted" ? createScriptedEngine({ codexHome }) : createNativeEngine({ codexHome, env, userAgent: userAgent(env) });
  const store = new RolloutStore({ codexHome, version: VERSION, env });
  const { idleThreadMs } = settings.serverSettings();
  const threads = new ThreadRegistry({ engine, store, settingsOf: (stored) => settings.forStoredThread(stored), idleMs: idleThreadMs });
  const agent: Agent = {
    engineName: engine.name,
    threads,
    settingsFor(asked) {
      const resolved = settings.forNewThread(asked);
      for (const notice of resolved.notices) report(notice);
      return resolved;
    },
  };
  return {
    actions: new Map([
      ["codex", codexTool(agent)],
      ["codex-reply", codexReplyTool(agent)],
    ]),
    interruptAll: () => threads.interruptAll(),
    async settle() {
      await threads.settle();
      await store.settle();
    },
    close: () => threads.close(),
  };
}
