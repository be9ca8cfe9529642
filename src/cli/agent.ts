import { ApprovalDesk } from "../approvals/desk.js";
import type { ApprovalFallback } from "../approvals/fallback.js";
import type { SettingsResolver } from "../config/resolve.js";
import { createNativeEngine, createScriptedEngine } from "../engines/native/engine.js";
import { VERSION } from "../lib/version.js";
import type { Agent } from "../mcp/tools/agent.js";
import { codexTool } from "../mcp/tools/codex.js";
import { codexReplyTool } from "../mcp/tools/codexReply.js";
import type { ToolAction } from "../mcp/tools/tool.js";
import { userAgent } from "../mcp/userAgent.js";
import { RolloutStore } from "../rollouts/store.js";
import type { StoredSettings } from "../threads/store.js";
import { ThreadRegistry } from "../threads/threadRegistry.js";

export interface AgentOptions {
  readonly engine: "native" | "scripted";
  readonly approvalFallback: ApprovalFallback;
  readonly sandboxBin?: string;
  readonly serverCwd: string;
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
  /** Ends what turns left running. */
  close(): Promise<void>;
}

export function openAgent(options: AgentOptions): OpenAgent {
  const { codexHome, env, settings, report } = options;
  const engine =
    options.engine === "scripted" ? createScriptedEngine(options) : createNativeEngine({ ...options, userAgent: userAgent(env) });
  const store = new RolloutStore({ codexHome, version: VERSION, env });
  const { idleThreadMs, approvalTimeoutMs, emptyApprovalForms: emptyForms } = settings.serverSettings();
  const desk = new ApprovalDesk(approvalTimeoutMs);
  const settingsOf = (stored: StoredSettings) => settings.forStoredThread(stored);
  const threads = new ThreadRegistry({ engine, store, desk, settingsOf, idleMs: idleThreadMs, report });
  const agent: Agent = {
    engineName: engine.name,
    threads,
    approvals: { desk, fallback: options.approvalFallback, emptyForms },
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
    async close() {
      await threads.close();
      await engine.close?.();
    },
  };
}
