import type { Engine } from "../../threads/engine.js";
import { AppServers } from "./appServers.js";
import { resumeThread, startThread } from "./loadThread.js";
import type { SupervisorOptions } from "./supervisor.js";
import { CodexThread } from "./thread.js";

/** The Codex CLI of this machine, with its login, models, rules and MCP servers, driven through `codex app-server`. */
export function createCodexEngine(options: Omit<SupervisorOptions, "settings">): Engine {
  const servers = new AppServers(options);
  return {
    name: "codex",
    async openThread({ id, settings, history }) {
      const supervisor = servers.for(settings);
      supervisor.enter();
      try {
        const codex = await supervisor.get();
        const kept = history ? await resumeThread(codex, id, settings) : await startThread(codex, settings);
        return new CodexThread({ kept, isNew: !history, codex }, supervisor);
      } catch (error) {
        supervisor.leave();
        throw error;
      }
    },
    close: () => servers.close(),
  };
}
