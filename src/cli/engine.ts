import { createNativeEngine } from "../engines/native/engine.js";
import { lazily } from "../lib/lazily.js";
import { userAgent } from "../mcp/userAgent.js";
import type { Engine, EngineName } from "../threads/engine.js";

export interface EngineOptions {
  readonly engine: EngineName;
  readonly codexHome: string;
  readonly env: NodeJS.ProcessEnv;
  readonly serverCwd: string;
  readonly sandboxBin?: string;
  readonly codexBin?: string;
  /** Files of the server that no command may read. */
  readonly secretFiles?: readonly string[];
  readonly report: (line: string) => void;
}

/** The engine that was chosen. None does anything before its first thread. */
export function openEngine(options: EngineOptions): Engine {
  switch (options.engine) {
    case "codex":
      return loadedWithFirstThread("codex", async () => {
        const { createCodexEngine } = await import("../engines/codex/engine.js");
        return createCodexEngine({ ...options, cwd: options.serverCwd });
      });
    case "native":
      return createNativeEngine({ ...options, userAgent: userAgent(options.env) });
    case "scripted":
      return loadedWithFirstThread("scripted", async () => {
        const { createScriptedEngine } = await import("../engines/native/scriptedEngine.js");
        return createScriptedEngine(options);
      });
  }
}

/** The code of one engine is of no use to the others, and would make their first answer later. */
function loadedWithFirstThread(name: EngineName, load: () => Promise<Engine>): Engine {
  const engine = lazily(load);
  return {
    name,
    openThread: async (opening) => (await engine.get()).openThread(opening),
    close: async () => (await engine.ifLoaded())?.close?.(),
  };
}
