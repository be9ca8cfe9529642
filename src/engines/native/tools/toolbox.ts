import { existsSync } from "node:fs";
import path from "node:path";
import { truncateMiddle } from "../../../exec/modelOutput.js";
import type { TurnContext } from "../../../threads/engine.js";
import type { ThreadEvent } from "../../../threads/events.js";
import type { ThreadSettings } from "../../../threads/settings.js";
import { openConfiguredServers, type ToolServers } from "../mcpServers/openConfigured.js";
import { truncationOf } from "../models.js";
import type { Machine } from "./machine.js";
import { offeredTools } from "./offer.js";
import type { OwnTools } from "./ownTools.js";
import { serverQuestions } from "./serverQuestions.js";
import type { Declaration, DeclaredTool, Tool } from "./tool.js";
import type { TurnPurpose, TurnSlot } from "./turnSlot.js";

interface Waiting {
  readonly signal: AbortSignal;
}

/** The tools of one thread: our own, chosen by its model and features, and those of its MCP servers. */
export interface Toolbox {
  /** What the model is offered now, in Codex's order; the same array as long as nothing changed. */
  declarations(waiting: Waiting): Promise<readonly Declaration[]>;
  find(name: string, waiting: Waiting): Promise<Tool | undefined>;
  /** What happened to the servers since it was last asked. */
  news(): readonly ThreadEvent[];
  beginTurn(turn: TurnContext, purpose: TurnPurpose): void;
  /** The calls of one answer of the model are carried out. */
  callsEnded(): void;
  /** What the user should know of what the turn made; asked at its end. */
  leftBehind(): Promise<readonly ThreadEvent[]>;
  endTurn(): void;
  /** Everything the running turn's patches changed so far. */
  turnDiff(): string | undefined;
  /** Commands that were left running. */
  readonly keepsRunning: boolean;
  close(): Promise<void>;
}

/** Starts the thread's MCP servers. */
export async function openToolbox(settings: ThreadSettings, machine: Machine): Promise<ThreadToolbox> {
  const turns: TurnSlot = { running: undefined, workspace: machine.workspaceOf(settings.cwd) };
  const servers = await openConfiguredServers(settings.mcpServers, {
    around: machine,
    mark: machine.mark(settings),
    ask: serverQuestions(turns, settings.approvalPolicy),
    shorten: (text) => truncateMiddle(text, truncationOf(settings)),
  });
  return new ThreadToolbox({ settings, machine, turns, servers });
}

interface ToolboxParts {
  readonly settings: ThreadSettings;
  readonly machine: Machine;
  readonly turns: TurnSlot;
  readonly servers: ToolServers;
}

/** The code of our own tools is loaded with the first call: it is most of the agent's, and many answers do without. */
export class ThreadToolbox implements Toolbox {
  readonly #parts: ToolboxParts;
  readonly #ownDeclarations: readonly Declaration[];
  #offered: { readonly remote: readonly DeclaredTool[]; readonly declarations: readonly Declaration[] };
  #own: OwnTools | undefined;

  constructor(parts: ToolboxParts) {
    this.#parts = parts;
    this.#ownDeclarations = offeredTools(parts.settings, declarationsOf(parts.servers.resources));
    this.#offered = { remote: [], declarations: this.#ownDeclarations };
  }

  async declarations(waiting: Waiting): Promise<readonly Declaration[]> {
    const remote = await this.#parts.servers.tools(waiting);
    if (remote !== this.#offered.remote) this.#offered = { remote, declarations: [...this.#ownDeclarations, ...declarationsOf(remote)] };
    return this.#offered.declarations;
  }

  async find(name: string, waiting: Waiting): Promise<Tool | undefined> {
    const own = await this.#ownTools();
    own.bench.files.toolBegins();
    return own.find(name) ?? this.#parts.servers.find(name, waiting);
  }

  news(): readonly ThreadEvent[] {
    return this.#parts.servers.takeStartupNews();
  }

  /** A broken rules file turns all rules off; whoever started the thread should know. */
  async ruleWarnings(): Promise<readonly string[]> {
    if (!existsSync(path.join(this.#parts.machine.codexHome, "rules"))) return [];
    return (await this.#ownTools()).bench.ruleWarnings();
  }

  beginTurn({ ask, confined, reach }: TurnContext, purpose: TurnPurpose): void {
    this.#parts.turns.running = { ask, confined, reach, ...purpose };
    this.#own?.bench.beginTurn();
  }

  callsEnded(): void {
    // What runs on could make more until the turn ends.
    if (!this.keepsRunning) this.#own?.bench.files.toolsEnded();
  }

  endTurn(): void {
    this.#parts.turns.running = undefined;
  }

  async leftBehind(): Promise<readonly ThreadEvent[]> {
    const { made, isTooLarge } = (await this.#own?.bench.files.findings()) ?? { made: [], isTooLarge: false };
    const messages = [...(made.length > 0 ? [reportOf(made)] : []), ...(isTooLarge ? [TOO_LARGE] : [])];
    return messages.map((message): ThreadEvent => ({ type: "warning", message }));
  }

  turnDiff(): string | undefined {
    return this.#own?.bench.turnDiff.text();
  }

  get keepsRunning(): boolean {
    return (this.#own?.bench.sessions.size ?? 0) > 0;
  }

  async close(): Promise<void> {
    await Promise.all([this.#own?.bench.close(), this.#parts.servers.close()]);
  }

  async #ownTools(): Promise<OwnTools> {
    const { settings, machine, turns } = this.#parts;
    const { openOwnTools } = await import("./ownTools.js");
    this.#own ??= openOwnTools(settings, machine, turns);
    return this.#own;
  }
}

const MOST_NAMED = 10;
const TOO_LARGE =
  "This folder is too large to be looked through for files that other programs run (.vscode, .envrc, hooks of inner repositories, …): commands could change those that were not found.";

function reportOf(names: readonly string[]): string {
  const named = names.slice(0, MOST_NAMED).join(", ");
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : "";
  return `This turn created ${named}${more}: other programs (editors, shells, git) may run what is in there. Look at it before you use them in this folder.`;
}

function declarationsOf(tools: readonly DeclaredTool[]): Declaration[] {
  return tools.map(({ declaration }) => declaration);
}
