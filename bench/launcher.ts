import { openAppServerSession } from "./appServerSession.js";
import { type PreparedHome, SHORT_TURN, type StartedServer } from "./benchCase.js";
import { type ListeningServer, startListening } from "./listening.js";
import { openMcpSession } from "./mcpSession.js";
import type { Processes } from "./processes.js";
import type { Stage } from "./stage.js";
import type { Target } from "./targets.js";

const SESSION_OPENERS = { mcp: openMcpSession, "app-server": openAppServerSession };

/** Starts servers, each in its own home. */
export class Launcher {
  readonly #usedHomes = new Set<string>();
  #unusedHomes = 0;

  constructor(private readonly parts: { readonly processes: Processes; readonly stage: Stage; readonly modelUrl: string }) {}

  async startInUnusedHome(target: Target): Promise<StartedServer> {
    return this.#start(target, `${target.name}-unused-${++this.#unusedHomes}`);
  }

  /** A home is made used by a server that ran a turn in it, outside any measurement. */
  async startInUsedHome(target: Target): Promise<StartedServer> {
    if (!this.#usedHomes.has(target.name)) {
      await using first = await this.#start(target, target.name);
      await first.session.turn(SHORT_TURN);
      this.#usedHomes.add(target.name);
    }
    return this.#start(target, target.name);
  }

  async startInPreparedHome(target: Target, { name, prepare }: PreparedHome): Promise<StartedServer> {
    const homeName = `${target.name}-${name}`;
    if (!this.#usedHomes.has(homeName)) {
      prepare(this.parts.stage.home(homeName, this.parts.modelUrl).codexHome);
      this.#usedHomes.add(homeName);
    }
    return this.#start(target, homeName);
  }

  async startDriven({ name, drives }: Target): Promise<StartedServer> {
    if (!drives) throw new Error(`${name} drives no other program`);
    return this.startInUsedHome(drives);
  }

  /** In a home of its own, since what the cases over HTTP leave behind is of no use to others. */
  async startListening({ name, listenCommand }: Target): Promise<ListeningServer> {
    if (!listenCommand) throw new Error(`${name} cannot listen`);
    const { workspace, env } = this.parts.stage.home(`${name}-listening-${++this.#unusedHomes}`, this.parts.modelUrl);
    return startListening(listenCommand, { cwd: workspace, env });
  }

  async #start(target: Target, homeName: string): Promise<StartedServer> {
    const { processes, stage, modelUrl } = this.parts;
    if (!target.command) throw new Error(`${target.name} has no stdio`);
    const { workspace, env } = stage.home(homeName, modelUrl);
    const spawnedAt = performance.now();
    const msSinceSpawn = () => performance.now() - spawnedAt;
    const server = processes.start(target.command, { cwd: workspace, env });
    try {
      const session = await SESSION_OPENERS[target.speaks](server, workspace);
      return { pid: server.pid, session, initializeMs: msSinceSpawn(), msSinceSpawn, [Symbol.asyncDispose]: () => server.end() };
    } catch (error) {
      await server.end();
      throw error;
    }
  }
}
