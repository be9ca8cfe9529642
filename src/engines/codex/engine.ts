import type { Engine } from "../../threads/engine.js";
import { AppServers, type AppServersOptions } from "./appServers.js";
import { resumeThread, startThread } from "./loadThread.js";
import { CodexOffers } from "./offers/offers.js";
import { CodexThread } from "./thread.js";

/** The Codex CLI of this machine, with its login, models, rules and MCP servers, driven through `codex app-server`. */
export function createCodexEngine(options: AppServersOptions): Engine {
  const servers = new AppServers(options);
  const offers = new CodexOffers(servers);
  return {
    name: "codex",
    offers,
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
    async close() {
      await offers.close();
      await servers.close();
    },
  };
}
