import { mkdirSync } from "node:fs";
import path from "node:path";
import { createSettingsResolver } from "../../../src/config/resolve.js";
import { type AgentOptions, type OpenAgent, openAgent } from "../../../src/server/openAgent.js";
import { tempHome } from "../threads/rollouts.js";

export interface MemoryAgentOptions extends Partial<Pick<AgentOptions, "approvalFallback" | "ceilings" | "cwd" | "sandboxBin">> {
  /** The folder of an earlier agent, to continue with. */
  readonly codexHome?: string;
  /** The user's home is the folder that the agent is started in. */
  readonly startsAtHome?: boolean;
}

/** The real agent with the scripted model, started in a folder of its own, where it also keeps its rollouts. */
export class MemoryAgent implements AsyncDisposable {
  readonly codexHome: string;
  readonly open: OpenAgent;
  /** The server's messages for its operator. */
  readonly reported: string[] = [];
  readonly #home = tempHome();

  constructor({ codexHome, startsAtHome = false, ...options }: MemoryAgentOptions = {}) {
    this.codexHome = codexHome ?? path.join(this.#home.path, ".codex");
    mkdirSync(this.codexHome, { recursive: true });
    const serverCwd = this.#home.path;
    const sources = { codexHome: this.codexHome, cliOverrides: [], cliNamed: {}, strict: false, env: {}, serverCwd };
    this.open = openAgent({
      engine: "scripted",
      approvalFallback: "auto-within-policy",
      codexHome: this.codexHome,
      env: { PATH: process.env["PATH"], ...(startsAtHome && { HOME: serverCwd }) },
      serverCwd,
      settings: createSettingsResolver(sources),
      report: (line) => this.reported.push(line),
      ...options,
    });
  }

  /** The default folder of threads. */
  get folder(): string {
    return this.#home.path;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.open.interruptAll();
    await this.open.settle();
    await this.open.close();
    this.#home[Symbol.dispose]();
  }
}
