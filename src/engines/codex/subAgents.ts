import type { Fields } from "../../lib/fields.js";
import { oneLine } from "../../lib/oneLine.js";
import type { HelpingAgent, ThreadEvent } from "../../threads/events.js";
import type { ThreadSettings } from "../../threads/settings.js";
import type { AppServer, ThreadListener, ThreadRequest } from "./appServer/appServer.js";
import { asFields, asList, asText, nonEmptyText } from "./appServer/read.js";
import { startOfAskedPatch } from "./translate/actionItems.js";
import { closeItems } from "./translate/items.js";
import { translationOf } from "./translate/notifications.js";
import { ThreadMemory } from "./translate/threadMemory.js";
import { newTurnState, type OpenItems, type TurnState } from "./translate/turnState.js";
import { turnEndOf } from "./translate/turnTranslator.js";

/** An agent that works for a thread's agent, on a thread of its own. */
export interface SubAgent {
  readonly threadId: string;
  /** The name shown to people. */
  readonly name: string;
  readonly openItems: OpenItems;
  /** The events to show before the question of this request. */
  asked(params: unknown): readonly ThreadEvent[];
}

/** How a turn reacts to its sub-agents. */
export interface AgentFollower {
  agentShown(events: readonly ThreadEvent[]): void;
  agentNotified(method: string, params: unknown): void;
  agentAsked(agent: SubAgent, request: ThreadRequest): Promise<unknown>;
  /** No sub-agent works any more. */
  agentsSettled(): void;
}

interface SubAgentsOptions {
  readonly settings: ThreadSettings;
  /** False when the same text was already shown on the thread: Codex repeats a warning for each agent. */
  readonly isNew: (text: string) => boolean;
  /** The turn to which their actions belong. */
  readonly follower: () => AgentFollower | undefined;
}

/** Far more than Codex runs at the same time. */
const MOST_AGENTS = 200;
const STATUS_MS = 5_000;

/**
 * The agents that a thread's agent has started, and those that these have started. Codex reports their actions on separate threads, and
 * lets them continue when the turn that started them has ended or was interrupted. They stay available: a later turn may give them more
 * work.
 */
export class SubAgents {
  readonly #options: SubAgentsOptions;
  readonly #agents = new Map<string, Agent>();
  /** The tasks of agents that have not started yet, by the model's call that starts them. */
  readonly #tasks = new Map<string, string>();
  #server: Pick<AppServer, "listen" | "unlisten" | "request"> | undefined;

  constructor(options: SubAgentsOptions) {
    this.#options = options;
  }

  get threadIds(): readonly string[] {
    return [...this.#agents.keys()];
  }

  /** The names of the agents that work or have received work. */
  get atWork(): readonly string[] {
    return [...this.#agents.values()].filter(({ state }) => state !== "idle").map(({ name }) => name);
  }

  /** Receives their messages from this process from now on. */
  enter(server: Pick<AppServer, "listen" | "unlisten" | "request">): void {
    this.#server = server;
  }

  /** Stops receiving their messages. */
  leave(): void {
    for (const threadId of this.#agents.keys()) this.#server?.unlisten(threadId);
    this.#agents.clear();
    this.#tasks.clear();
    this.#server = undefined;
  }

  /** Tracks the agents named in a message of the thread or of one of its agents. */
  observe(method: string, params: unknown): void {
    if (method === "rawResponseItem/completed") this.#observeTask(asFields(asFields(params)["item"]));
    if (method !== "item/started" && method !== "item/completed") return;
    const item = asFields(asFields(params)["item"]);
    if (item["type"] === "subAgentActivity") this.#observeActivity(item);
    if (item["type"] === "collabAgentToolCall" && method === "item/completed") this.#observeCall(item);
  }

  /** Asks Codex about agents that received work and have not started: a message may leave an agent idle. */
  async checkDue(): Promise<void> {
    const due = [...this.#agents.values()].filter(({ state }) => state === "due");
    await Promise.all(due.map((agent) => this.#check(agent)));
    this.#tellIfSettled();
  }

  async #check(agent: Agent): Promise<void> {
    const answer = await this.#server
      ?.request("thread/read", { threadId: agent.threadId }, { timeoutMs: STATUS_MS })
      .catch(() => undefined);
    const { type } = asFields(asFields(asFields(answer)["thread"])["status"]);
    if (agent.state === "due" && type !== "active") agent.state = "idle";
  }

  #observeTask({ type, name, call_id: callId, arguments: given }: Fields): void {
    if (type !== "function_call" || name !== "spawn_agent" || typeof callId !== "string" || this.#tasks.size >= MOST_AGENTS) return;
    const task = nonEmptyText(argumentsOf(asText(given))["message"]);
    if (task !== undefined) this.#tasks.set(callId, task);
  }

  #observeActivity({ id, kind, agentThreadId, agentPath }: Fields): void {
    const agent = this.#know(agentThreadId, nonEmptyText(agentPath)?.replace(/^\/root\//, ""));
    if (kind === "started") agent?.give(this.#taskOf(id));
    if (kind === "interacted") agent?.expect();
  }

  /** Older models start agents by a call; the end of the call names the agents. */
  #observeCall({ id, tool, prompt, receiverThreadIds }: Fields): void {
    const agents = asList(receiverThreadIds).map((threadId) => this.#know(threadId, undefined));
    const task = this.#taskOf(id) ?? nonEmptyText(prompt);
    if (tool === "spawnAgent" || tool === "sendInput") for (const agent of agents) agent?.give(task);
    if (tool === "sendInput" || tool === "resumeAgent") for (const agent of agents) agent?.expect();
  }

  #taskOf(callId: unknown): string | undefined {
    const task = this.#tasks.get(asText(callId));
    this.#tasks.delete(asText(callId));
    return task;
  }

  #know(threadId: unknown, name: string | undefined): Agent | undefined {
    if (typeof threadId !== "string" || threadId === "") return undefined;
    const known = this.#agents.get(threadId);
    if (known || this.#agents.size >= MOST_AGENTS || !this.#server) return known;
    const agent = new Agent(threadId, name ?? `#${this.#agents.size + 1}`, this.#options);
    this.#agents.set(threadId, agent);
    this.#server.listen(threadId, this.#listenerFor(agent));
    return agent;
  }

  #listenerFor(agent: Agent): ThreadListener {
    return {
      notified: (method, params) => {
        const wasAtWork = agent.state !== "idle";
        this.observe(method, params);
        const follower = this.#options.follower();
        follower?.agentNotified(method, params);
        follower?.agentShown(agent.notified(method, params));
        if (wasAtWork) this.#tellIfSettled();
      },
      asked: (request) => {
        const follower = this.#options.follower();
        if (!follower) return Promise.reject(new Error("no turn is running"));
        return follower.agentAsked(agent, request);
      },
      // The thread that owns the agents is notified itself.
      lost: () => {},
    };
  }

  #tellIfSettled(): void {
    if (this.atWork.length === 0) this.#options.follower()?.agentsSettled();
  }
}

/** One agent. It works from the start to the end of its turn. */
class Agent implements SubAgent {
  readonly threadId: string;
  readonly name: string;
  readonly #options: Pick<SubAgentsOptions, "settings" | "isNew">;
  readonly #memory = new ThreadMemory();
  /** `due`: it received work and has not started. */
  state: "due" | "working" | "idle" = "due";
  #turn: TurnState;
  #task: string | null = null;
  #said: string | null = null;
  /** The tokens it has used so far. They are not part of the thread's receipts. */
  #tokens = 0;

  constructor(threadId: string, name: string, options: Pick<SubAgentsOptions, "settings" | "isNew">) {
    this.threadId = threadId;
    this.name = name;
    this.#options = options;
    this.#turn = this.#newTurn();
  }

  get openItems(): OpenItems {
    return this.#turn.items;
  }

  asked(params: unknown): readonly ThreadEvent[] {
    return startOfAskedPatch(this.#turn.items, params);
  }

  give(task: string | undefined): void {
    this.#task = task ?? this.#task;
  }

  expect(): void {
    if (this.state === "idle") this.state = "due";
  }

  /** Returns an action of the sub-agent as events of the turn that it works for. */
  notified(method: string, params: unknown): readonly ThreadEvent[] {
    const fields = asFields(params);
    if (method === "turn/started") {
      this.#turn = this.#newTurn();
      this.state = "working";
      this.#said = null;
      return [this.#changed("running", null)];
    }
    if (method === "turn/completed") return this.#ended(fields);
    if (method === "thread/closed") this.state = "idle";
    return (translationOf(method)?.(fields, this.#turn) ?? []).flatMap((event) => {
      if (event.type === "itemCompleted" && event.item.kind === "agentMessage") this.#said = event.item.texts.join("");
      if (event.type === "tokenCount") this.#tokens = event.usage?.total_token_usage.total_tokens ?? this.#tokens;
      return event.type === "warning" && !this.#options.isNew(event.message) ? [] : shownOf(event, this.name);
    });
  }

  #ended(params: Fields): readonly ThreadEvent[] {
    this.state = "idle";
    const ending = turnEndOf(params);
    const closed = closeItems(this.#turn, ending.kind).flatMap((event) => shownOf(event, this.name));
    const changed = this.#changed(ending.kind, ending.kind === "failed" ? ending.message : this.#said);
    if (ending.kind === "failed")
      return [...closed, changed, { type: "warning", message: `The agent ${this.name} failed: ${ending.message}` }];
    const how = ending.kind === "completed" ? "is done" : "was stopped";
    return [...closed, changed, { type: "backgroundNote", message: `The agent ${this.name} ${how} (${this.#tokens} tokens)` }];
  }

  #changed(status: HelpingAgent["status"], result: string | null): ThreadEvent {
    const { threadId: agentId, name } = this;
    return { type: "agentChanged", agentId, name, task: this.#task, status, result, tokens: this.#tokens };
  }

  #newTurn(): TurnState {
    return newTurnState({ settings: this.#options.settings, memory: this.#memory });
  }
}

/** The arguments of a model's call; empty if they cannot be parsed. */
function argumentsOf(text: string): Fields {
  try {
    return asFields(JSON.parse(text));
  } catch {
    return {};
  }
}

const LONGEST_NOTE = 500;

/**
 * How an agent's event is shown: commands and changes like those of the thread's own agent, messages as notes. Its history, plan and token
 * usage are not the thread's.
 */
function shownOf(event: ThreadEvent, name: string): readonly ThreadEvent[] {
  switch (event.type) {
    case "commandStarted":
    case "commandOutput":
    case "commandResumed":
    case "commandEnded":
    case "patchStarted":
    case "patchEnded":
    case "imageViewed":
    case "mcpToolStarted":
    case "mcpToolEnded":
      return [event];
    case "warning":
      return [{ ...event, message: `The agent ${name}: ${event.message}` }];
    case "backgroundNote":
      return [{ ...event, message: `${name}: ${event.message}` }];
    case "itemStarted":
    case "itemCompleted":
      return itemOf(event, name);
    default:
      return [];
  }
}

function itemOf(event: Extract<ThreadEvent, { type: "itemStarted" | "itemCompleted" }>, name: string): readonly ThreadEvent[] {
  const { item, type } = event;
  if (item.kind === "webSearch") return [event];
  if (item.kind !== "agentMessage" || type === "itemStarted") return [];
  const said = oneLine(item.texts.map(asText).join(" "), LONGEST_NOTE);
  return said === "" ? [] : [{ type: "backgroundNote", message: `${name}: ${said}` }];
}
