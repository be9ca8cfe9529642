import type { Fields } from "../../lib/fields.js";
import { oneLine } from "../../lib/oneLine.js";
import type { ThreadEvent } from "../../threads/events.js";
import type { ThreadSettings } from "../../threads/settings.js";
import type { AppServer, ThreadListener, ThreadRequest } from "./appServer/appServer.js";
import { asFields, asList, asText, nonEmptyText } from "./appServer/read.js";
import { startOfAskedPatch } from "./translate/actionItems.js";
import { closeItems } from "./translate/items.js";
import { translationOf } from "./translate/notifications.js";
import { ThreadMemory } from "./translate/threadMemory.js";
import { newTurnState, type OpenItems, type TurnState } from "./translate/turnState.js";
import { turnEndOf } from "./translate/turnTranslator.js";

/** An agent that works for the agent of a thread, on a thread of its own. */
export interface SubAgent {
  readonly threadId: string;
  /** As people are told of it. */
  readonly name: string;
  readonly openItems: OpenItems;
  /** What is shown before the question that a request of its thread asks. */
  asked(params: unknown): readonly ThreadEvent[];
}

/** What a turn does with what its agents do. */
export interface AgentFollower {
  agentShown(events: readonly ThreadEvent[]): void;
  agentNotified(method: string, params: unknown): void;
  agentAsked(agent: SubAgent, request: ThreadRequest): Promise<unknown>;
  /** None of them works any more. */
  agentsSettled(): void;
}

interface SubAgentsOptions {
  readonly settings: ThreadSettings;
  /** False when the same text was told on the thread before: Codex warns each of them of the same. */
  readonly isNew: (text: string) => boolean;
  /** The turn that everything they do belongs to. */
  readonly follower: () => AgentFollower | undefined;
}

/** Far more than Codex lets work at once. */
const MOST_AGENTS = 200;
const STATUS_MS = 5_000;

/**
 * The agents that a thread's agent has begun, and those that these have begun. Codex tells what they do under threads of their own, and lets
 * them work on when the turn that began them has ended or was interrupted. They stay at hand: a later turn may give them more to do.
 */
export class SubAgents {
  readonly #options: SubAgentsOptions;
  readonly #agents = new Map<string, Agent>();
  #server: Pick<AppServer, "listen" | "unlisten" | "request"> | undefined;

  constructor(options: SubAgentsOptions) {
    this.#options = options;
  }

  get threadIds(): readonly string[] {
    return [...this.#agents.keys()];
  }

  /** The names of those that work, or were told to. */
  get atWork(): readonly string[] {
    return [...this.#agents.values()].filter(({ state }) => state !== "idle").map(({ name }) => name);
  }

  /** From now on their messages come from this process. */
  enter(server: Pick<AppServer, "listen" | "unlisten" | "request">): void {
    this.#server = server;
  }

  /** Nothing of them is heard any more. */
  leave(): void {
    for (const threadId of this.#agents.keys()) this.#server?.unlisten(threadId);
    this.#agents.clear();
    this.#server = undefined;
  }

  /** Takes note of the agents that a message of the thread, or of one of them, is about. */
  observe(method: string, params: unknown): void {
    if (method !== "item/started" && method !== "item/completed") return;
    const item = asFields(asFields(params)["item"]);
    if (item["type"] === "subAgentActivity") this.#observeActivity(item);
    if (item["type"] === "collabAgentToolCall" && method === "item/completed") this.#observeCall(item);
  }

  /** Asks Codex about those that were told to work and have not begun: a message may leave an agent idle. */
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

  #observeActivity({ kind, agentThreadId, agentPath }: Fields): void {
    const agent = this.#know(agentThreadId, nonEmptyText(agentPath)?.replace(/^\/root\//, ""));
    if (kind === "interacted") agent?.expect();
  }

  /** Older models begin agents by a call, whose end tells which ones it was about. */
  #observeCall({ tool, receiverThreadIds }: Fields): void {
    const agents = asList(receiverThreadIds).map((threadId) => this.#know(threadId, undefined));
    if (tool === "sendInput" || tool === "resumeAgent") for (const agent of agents) agent?.expect();
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
      // The thread that they belong to is told.
      lost: () => {},
    };
  }

  #tellIfSettled(): void {
    if (this.atWork.length === 0) this.#options.follower()?.agentsSettled();
  }
}

/** One of them. It works from the start of its turn to that turn's end. */
class Agent implements SubAgent {
  readonly threadId: string;
  readonly name: string;
  readonly #options: Pick<SubAgentsOptions, "settings" | "isNew">;
  readonly #memory = new ThreadMemory();
  /** Due: it was told to work, and has not begun. */
  state: "due" | "working" | "idle" = "due";
  #turn: TurnState;
  /** What it has cost so far: no receipt of the thread counts it. */
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

  expect(): void {
    if (this.state === "idle") this.state = "due";
  }

  /** What it did, as part of the turn that it works for. */
  notified(method: string, params: unknown): readonly ThreadEvent[] {
    const fields = asFields(params);
    if (method === "turn/started") {
      this.#turn = this.#newTurn();
      this.state = "working";
      return [];
    }
    if (method === "turn/completed") return this.#ended(fields);
    if (method === "thread/closed") this.state = "idle";
    return (translationOf(method)?.(fields, this.#turn) ?? []).flatMap((event) => {
      if (event.type === "tokenCount") this.#tokens = event.usage?.total_token_usage.total_tokens ?? this.#tokens;
      return event.type === "warning" && !this.#options.isNew(event.message) ? [] : shownOf(event, this.name);
    });
  }

  #ended(params: Fields): readonly ThreadEvent[] {
    this.state = "idle";
    const ending = turnEndOf(params);
    const closed = closeItems(this.#turn, ending.kind).flatMap((event) => shownOf(event, this.name));
    if (ending.kind === "failed") return [...closed, { type: "warning", message: `The agent ${this.name} failed: ${ending.message}` }];
    const how = ending.kind === "completed" ? "is done" : "was stopped";
    return [...closed, { type: "backgroundNote", message: `The agent ${this.name} ${how} (${this.#tokens} tokens)` }];
  }

  #newTurn(): TurnState {
    return newTurnState({ settings: this.#options.settings, memory: this.#memory });
  }
}

const LONGEST_NOTE = 500;

/**
 * What is shown of what an agent does: what it runs and changes as if the thread's own agent did it, what it says as a note. Its history, its
 * plan and its tokens are not the thread's.
 */
function shownOf(event: ThreadEvent, name: string): readonly ThreadEvent[] {
  switch (event.type) {
    case "commandStarted":
    case "commandOutput":
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
