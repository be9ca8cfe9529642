import { once } from "node:events";
import { createServer } from "node:net";
import { openAppServerSession } from "./appServerSession.js";
import { type BenchCase, type PreparedHome, SHORT_TURN, type StartedServer } from "./benchCase.js";
import { type ListeningServer, startListening } from "./listening.js";
import { openMcpSession } from "./mcpSession.js";
import type { Processes } from "./processes.js";
import type { Stage } from "./stage.js";
import { FREE_PORT, type Target } from "./targets.js";

const SESSION_OPENERS = { mcp: openMcpSession, "app-server": openAppServerSession };

/** Starts servers, each in its own home. */
export class Launcher {
  readonly #usedHomes = new Set<string>();
  #unusedHomes = 0;

  constructor(private readonly parts: { readonly processes: Processes; readonly stage: Stage; readonly modelUrl: string }) {}

  async startInUnusedHome(target: Target): Promise<StartedServer> {
    return this.#start(target, `${target.name}-unused-${++this.#unusedHomes}`);
  }

  /** Before the measurement, a server runs a turn in the home, so that it counts as used. */
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
      await prepare(this.parts.stage.home(homeName, this.parts.modelUrl).codexHome);
      this.#usedHomes.add(homeName);
    }
    return this.#start(target, homeName);
  }

  async startDriven({ name, drives }: Target): Promise<StartedServer> {
    if (!drives) throw new Error(`${name} drives no other program`);
    return this.startInUsedHome(drives);
  }

  /** In a home of its own, so that cases over HTTP do not affect others. */
  async startListening({ name, listenCommand, apiCommand }: Target, over: BenchCase["over"]): Promise<ListeningServer> {
    const command = over === "api" ? apiCommand : listenCommand;
    if (!command) throw new Error(`${name} cannot listen`);
    const { workspace, env } = this.parts.stage.home(`${name}-listening-${++this.#unusedHomes}`, this.parts.modelUrl);
    const [file, ...args] = command;
    const port = args.includes(FREE_PORT) ? String(await freePort()) : FREE_PORT;
    return startListening([file, ...args.map((arg) => (arg === FREE_PORT ? port : arg))], { cwd: workspace, env });
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

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (typeof address !== "object" || address === null) throw new Error("there is no free port");
  return address.port;
}
