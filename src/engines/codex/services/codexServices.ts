import { type Fields, isFields } from "../../../lib/fields.js";
import type { EngineServices, ModelSummary, OneOffCommand, OneOffResult } from "../../../threads/engineServices.js";
import { maskedConfig } from "../../maskedConfig.js";
import type { AppServers } from "../appServer/appServers.js";
import { codexRefusal } from "../appServer/errors.js";
import { asFields, asList } from "../appServer/read.js";
import type { RunningCodex } from "../appServer/supervisor.js";
import type { ThreadGuards } from "../guard/threadGuard.js";
import { CodexAccount } from "./account.js";
import { listModels } from "./models.js";
import { runInCodexSandbox } from "./runOnce.js";

/** What Codex can do besides running turns. Its process is started when none runs, and ends afterwards. */
export class CodexServices implements EngineServices {
  readonly #servers: AppServers;
  readonly #guards: ThreadGuards;
  readonly account: CodexAccount;

  constructor(servers: AppServers, guards: ThreadGuards) {
    this.#servers = servers;
    this.#guards = guards;
    this.account = new CodexAccount(() => servers.usual());
  }

  async models(signal: AbortSignal): Promise<readonly ModelSummary[]> {
    return this.#servers.usual().lend((codex) => listModels(codex, signal));
  }

  async config(cwd: string): Promise<Fields> {
    return this.#servers.usual().lend((codex) => readConfig(codex, cwd));
  }

  async runOnce(command: OneOffCommand, signal: AbortSignal): Promise<OneOffResult> {
    return runInCodexSandbox(command, { servers: this.#servers, guards: this.#guards }, signal);
  }

  async close(): Promise<void> {
    await this.account.close();
  }
}

/** The effective settings in a folder as Codex reads them, without those we start its process with. */
async function readConfig({ server }: RunningCodex, cwd: string): Promise<Fields> {
  const answer = await server.request("config/read", { cwd, includeLayers: true }).catch((error: unknown) => {
    throw codexRefusal(error, "tell its settings");
  });
  const { config, layers } = asFields(answer);
  const inForce = asList(layers).map(asFields).filter(isInForce);
  const ours = inForce.filter(isOurs).map(settingsOf);
  const others = inForce.filter((layer) => !isOurs(layer)).map(settingsOf);
  const theirs = ours.reduce((seen, layer) => without(layer, seen, others), asFields(config));
  return maskedConfig(onlySet(theirs));
}

function settingsOf({ config }: Fields): Fields {
  return asFields(config);
}

function isOurs({ name }: Fields): boolean {
  return asFields(name)["type"] === "sessionFlags";
}

/** The settings of an untrusted folder are read but not used. */
function isInForce({ disabledReason }: Fields): boolean {
  return disabledReason === undefined || disabledReason === null;
}

/**
 * Removes a layer from the merged table: each of its values is replaced by that of the first other layer that has one. The other layers are
 * ordered by precedence, the strongest first.
 */
function without(layer: Fields, table: Fields, others: readonly Fields[]): Fields {
  const cleared = Object.entries(layer).map(([key, value]) => {
    const below = others.map((other) => other[key]);
    return [key, isFields(value) ? without(value, asFields(table[key]), below.map(asFields)) : below.find((said) => said !== undefined)];
  });
  return { ...table, ...Object.fromEntries(cleared) };
}

/** Codex reports every possible setting, most of them as null. */
function onlySet(table: Fields): Fields {
  const set = Object.entries(table).filter(([, value]) => value !== null && value !== undefined);
  return Object.fromEntries(set.map(([key, value]) => [key, isFields(value) ? onlySet(value) : value]));
}
