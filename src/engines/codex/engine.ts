import type { Engine } from "../../threads/engine.js";
import { AppServers, type AppServersOptions } from "./appServer/appServers.js";
import { type GuardOptions, type ThreadGuard, ThreadGuards } from "./guard/threadGuard.js";
import { resumeThread, startThread } from "./loadThread.js";
import { CodexServices } from "./services/services.js";
import { CodexThread } from "./thread.js";

export type CodexEngineOptions = AppServersOptions & GuardOptions;

/** The Codex CLI of this machine, with its login, models, rules and MCP servers, driven through `codex app-server`. */
export function createCodexEngine(options: CodexEngineOptions): Engine {
  const servers = new AppServers(options);
  const guards = new ThreadGuards(options);
  const services = new CodexServices(servers, guards);
  return {
    name: "codex",
    services: async () => services,
    catalog: async () => services.threads,
    async openThread({ id, settings, history, reach }) {
      const supervisor = servers.for(settings);
      supervisor.enter();
      let guard: ThreadGuard | undefined;
      try {
        const codex = await supervisor.get();
        guard = await guards.forThread(codex, settings, reach);
        const kept = history ? await resumeThread(codex, id, { settings, guard }) : await startThread(codex, settings, guard);
        return new CodexThread({ kept, isNew: !history, codex, guard }, { supervisor, guards });
      } catch (error) {
        guard?.release();
        supervisor.leave();
        throw error;
      }
    },
    async close() {
      await services.close();
      await servers.close();
    },
  };
}
