import type { Fields } from "../../../lib/fields.js";
import type { EngineOffers, ModelOffer, OneOffCommand, OneOffResult } from "../../../threads/offers.js";
import type { AppServers } from "../appServers.js";
import type { ThreadGuards } from "../guard/threadGuard.js";
import { CodexAccount } from "./account.js";
import { CodexCatalog } from "./catalog.js";
import { readConfig } from "./config.js";
import { listModels } from "./models.js";
import { runOnce } from "./runOnce.js";

/** What Codex can do besides running turns. Its process is started for it when none runs, and ends afterwards. */
export class CodexOffers implements EngineOffers {
  readonly threads: CodexCatalog;
  readonly account: CodexAccount;

  constructor(
    private readonly servers: AppServers,
    private readonly guards: ThreadGuards,
  ) {
    this.threads = new CodexCatalog(servers, guards);
    this.account = new CodexAccount(() => servers.usual());
  }

  async models(signal: AbortSignal): Promise<readonly ModelOffer[]> {
    return this.servers.usual().lend((codex) => listModels(codex, signal));
  }

  async config(cwd: string): Promise<Fields> {
    return this.servers.usual().lend((codex) => readConfig(codex, cwd));
  }

  async runOnce(command: OneOffCommand, signal: AbortSignal): Promise<OneOffResult> {
    return runOnce(command, { servers: this.servers, guards: this.guards }, signal);
  }

  async close(): Promise<void> {
    await this.account.close();
  }
}
