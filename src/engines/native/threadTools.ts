import { existsSync } from "node:fs";
import path from "node:path";
import { isDismissed } from "../../approvals/denials.js";
import { truncateMiddle } from "../../exec/output.js";
import type { ApprovalPolicy } from "../../exec/policies.js";
import { shownPath } from "../../lib/files/rawNames.js";
import type { TurnContext } from "../../threads/engine.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { McpServerSettings, ThreadSettings } from "../../threads/settings.js";
import type { AgentServers, AgentServersOptions, McpStartupNews } from "./agentServers/agentServers.js";
import type { AskElicitation, McpAnswer } from "./agentServers/questions.js";
import { truncationOf } from "./model/modelTraits.js";
import { declaredTools } from "./tools/declarations.js";
import type { HostEnvironment } from "./tools/hostEnvironment.js";
import { LateEvents } from "./tools/lateEvents.js";
import type { NativeTools } from "./tools/nativeTools.js";
import type { Declaration, DeclaredTool, Tool } from "./tools/tool.js";
import type { CurrentTurn, TurnPurpose } from "./tools/toolRuntime.js";

interface Waiting {
  readonly signal: AbortSignal;
}

/** The tools of one thread: the built-in ones, chosen by its model and features, and those of its MCP servers. */
export interface ThreadTools {
  /** The declarations for the next request, in Codex's order; the same array as long as nothing changed. */
  declarations(waiting: Waiting): Promise<readonly Declaration[]>;
  find(name: string, waiting: Waiting): Promise<Tool | undefined>;
  /** Events about the MCP servers since the last call. */
  news(): readonly ThreadEvent[];
  beginTurn(turn: TurnContext, purpose: TurnPurpose): void;
  /** Called when all calls of one model response have run. */
  callsEnded(): void;
  /** Warnings about files that the turn created; called at its end. */
  leftBehind(): Promise<readonly ThreadEvent[]>;
  endTurn(): void;
  /** All changes by the running turn's patches so far. */
  turnDiff(): Promise<string | undefined>;
  /** Events of commands that continue to run after their call. Only threads that behave as recorded have it. */
  readonly lateEvents: LateEvents | undefined;
  /** Switches to another model. A thread that has used its tools keeps them. */
  useSettings(settings: ThreadSettings): void;
  /** Commands are still running after their turns. */
  readonly keepsRunning: boolean;
  close(): Promise<void>;
}

/** Starts the thread's MCP servers. */
export async function openThreadTools(settings: ThreadSettings, host: HostEnvironment): Promise<LazyThreadTools> {
  let lateEvents: LateEvents | undefined;
  const turns: CurrentTurn = {
    running: undefined,
    workspace: host.workspaceOf(settings.cwd),
    get lateEvents() {
      lateEvents ??= new LateEvents();
      return lateEvents;
    },
  };
  const servers = await openConfiguredServers(settings.mcpServers, {
    host,
    mark: settings.mcpServers.length > 0 ? host.mark(settings) : undefined,
    ask: serverQuestions(turns, settings.approvalPolicy),
    // As recorded, results are shortened in requests only.
    shorten: (text) => (settings.asRecorded ? text : truncateMiddle(text, truncationOf(settings))),
    readingOnly: settings.looksOnly ?? false,
    asRecorded: settings.asRecorded ?? false,
  });
  return new LazyThreadTools({ settings, host, turns, servers });
}

interface ThreadToolsParts {
  readonly settings: ThreadSettings;
  readonly host: HostEnvironment;
  readonly turns: CurrentTurn;
  readonly servers: ToolServers;
}

/** The code of the built-in tools is loaded with the first call: it is most of the agent's code, and many responses need no tool. */
class LazyThreadTools implements ThreadTools {
  #parts: ThreadToolsParts;
  #ownDeclarations: readonly Declaration[];
  #offered: { readonly remote: readonly DeclaredTool[]; readonly declarations: readonly Declaration[] };
  #own: NativeTools | undefined;

  constructor(parts: ThreadToolsParts) {
    this.#parts = parts;
    this.#ownDeclarations = declaredTools(parts.settings, declarationsOf(parts.servers.resources));
    this.#offered = { remote: [], declarations: this.#ownDeclarations };
  }

  async declarations(waiting: Waiting): Promise<readonly Declaration[]> {
    const remote = await this.#parts.servers.tools(waiting);
    if (remote !== this.#offered.remote) this.#offered = { remote, declarations: [...this.#ownDeclarations, ...declarationsOf(remote)] };
    return this.#offered.declarations;
  }

  async find(name: string, waiting: Waiting): Promise<Tool | undefined> {
    const own = await this.#ownTools();
    own.runtime.toolBegins();
    return own.find(name) ?? this.#parts.servers.find(name, waiting);
  }

  useSettings(settings: ThreadSettings): void {
    if (this.#own) return;
    this.#parts = { ...this.#parts, settings };
    this.#ownDeclarations = declaredTools(settings, declarationsOf(this.#parts.servers.resources));
    const { remote } = this.#offered;
    this.#offered = { remote, declarations: [...this.#ownDeclarations, ...declarationsOf(remote)] };
  }

  news(): readonly ThreadEvent[] {
    return this.#parts.servers.takeStartupEvents();
  }

  /** A broken rules file disables everything that rules allow, so the caller is warned. */
  async ruleWarnings(): Promise<readonly string[]> {
    if (!existsSync(path.join(this.#parts.host.codexHome, "rules"))) return [];
    return (await this.#ownTools()).runtime.ruleWarnings();
  }

  beginTurn({ ask, confined, reach, turnId }: TurnContext, purpose: TurnPurpose): void {
    this.#parts.turns.running = { ask, confined, reach, turnId, ...purpose };
    this.#own?.runtime.beginTurn();
  }

  callsEnded(): void {
    this.#own?.runtime.callsEnded();
  }

  get lateEvents(): LateEvents | undefined {
    return this.#parts.settings.asRecorded ? this.#parts.turns.lateEvents : undefined;
  }

  endTurn(): void {
    this.#own?.runtime.tidyUp();
    if (this.#parts.settings.asRecorded) this.#own?.runtime.endCommands();
    this.#parts.turns.running = undefined;
  }

  async leftBehind(): Promise<readonly ThreadEvent[]> {
    this.#own?.runtime.tidyUp();
    const { made, isTooLarge } = (await this.#own?.runtime.files.findings()) ?? { made: [], isTooLarge: false };
    const withoutProfile = this.#own?.runtime.takeProfileWarning() ?? [];
    const messages = [...(made.length > 0 ? [reportOf(made)] : []), ...(isTooLarge ? [TOO_LARGE] : []), ...withoutProfile];
    const ends = this.#own?.runtime.takeEnds() ?? [];
    return [...ends, ...messages.map((message): ThreadEvent => ({ type: "warning", message }))];
  }

  async turnDiff(): Promise<string | undefined> {
    return this.#own?.runtime.turnDiff();
  }

  get keepsRunning(): boolean {
    return this.#own?.runtime.keepsRunning ?? false;
  }

  async close(): Promise<void> {
    await Promise.all([this.#own?.runtime.close(), this.#parts.servers.close()]);
  }

  async #ownTools(): Promise<NativeTools> {
    const { settings, host, turns } = this.#parts;
    const { openNativeTools } = await import("./tools/nativeTools.js");
    this.#own ??= openNativeTools(settings, host, turns);
    return this.#own;
  }
}

const MOST_NAMED = 10;
const TOO_LARGE =
  "This folder is too large to be searched for files that other programs run (.vscode, .envrc, hooks of inner repositories, …): commands could change those that were not found.";

function reportOf(names: readonly string[]): string {
  const named = names.slice(0, MOST_NAMED).map(shownPath).join(", ");
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : "";
  return `This turn created ${named}${more}: other programs (editors, shells, git) may run what is in there. Look at it before you use them in this folder.`;
}

function declarationsOf(tools: readonly DeclaredTool[]): Declaration[] {
  return tools.map(({ declaration }) => declaration);
}

/** Forwards the questions of a thread's MCP servers to the follower of its turn. Without a turn, or under `never`, they are declined. */
function serverQuestions(turns: CurrentTurn, approvalPolicy: ApprovalPolicy): AskElicitation {
  return async ({ server, message, requestedSchema }, { signal }) => {
    if (!turns.running || approvalPolicy === "never") return { action: "decline" };
    const form = { kind: "form" as const, callId: "", server, message, requestedSchema };
    const decision = await turns.running.ask({ ...form, staysInSandbox: false, needsPerson: true }, signal);
    if (decision.kind === "answered") return { action: "accept", content: decision.content as McpContent };
    return { action: decision.kind === "abort" || isDismissed(decision) ? "cancel" : "decline" };
  };
}

/** The input fits the form as far as MCP describes forms; the asking server validates the rest against its own schema. */
type McpContent = Extract<McpAnswer, { action: "accept" }>["content"];

/** A thread's view of its MCP servers. */
export type ToolServers = Pick<AgentServers, "resources" | "tools" | "find" | "takeStartupEvents" | "close">;

/** Starts the configured servers in the background. Their code is loaded only if there are any. */
export async function openConfiguredServers(settings: readonly McpServerSettings[], options: AgentServersOptions): Promise<ToolServers> {
  if (settings.length === 0) return noServers(options);
  const { openAgentServers } = await import("./agentServers/agentServers.js");
  return openAgentServers(settings, options);
}

/** Without servers the start-up is complete at once; its summary is still reported. */
function noServers({ asRecorded, shorten }: Pick<AgentServersOptions, "asRecorded" | "shorten">): ToolServers {
  const none: readonly never[] = [];
  const untold: McpStartupNews[] = [{ type: "mcpStartupCompleted", ready: [], failed: [], cancelled: [] }];
  return {
    resources: none,
    tools: async () => none,
    // Codex offered the resource tools even without servers.
    async find(name) {
      if (!asRecorded) return undefined;
      const { resourceTools } = await import("./agentServers/resourceTools.js");
      return resourceTools({ servers: none, shorten }).find((tool) => tool.name === name);
    },
    takeStartupEvents: () => untold.splice(0),
    close: async () => {},
  };
}
