import { assertNever } from "../../../lib/assertNever.js";
import { isFields } from "../../../lib/fields.js";
import type { CodexErrorInfo, ThreadEvent, TurnEnd } from "../../../threads/events.js";
import { asFields } from "../appServer/read.js";
import { startOfAskedPatch } from "./actionItems.js";
import { closeItems, endReview } from "./items.js";
import { failureOf, withRemedy } from "./notices.js";
import { translationOf } from "./notifications.js";
import { answerCalls } from "./rawItems.js";
import { settingsInForce } from "./settings.js";
import { newTurnState, type OpenItems, type TurnSetup, type TurnState } from "./turnState.js";

/** More ids than any turn has: a review has two. */
const MOST_IDS = 10;

interface TurnTranslatorOptions extends TurnSetup {
  /** The sandbox of the turn's commands. */
  readonly sandboxBackend: string;
}

/** Translates the app-server's notifications of one turn into events with the wording and order of Codex 0.92.0. One per turn. */
export class TurnTranslator {
  readonly #turn: TurnState;
  /** The app-server's ids of this turn. */
  readonly #ids = new Set<string>();
  readonly #sandboxBackend: string;
  #state: "new" | "running" | "ended" = "new";

  constructor({ sandboxBackend, ...setup }: TurnTranslatorOptions) {
    this.#turn = newTurnState(setup);
    this.#sandboxBackend = sandboxBackend;
  }

  get openItems(): OpenItems {
    return this.#turn.items;
  }

  /** The events for a notification; none for unknown and malformed ones, for those of earlier turns, and after the end. */
  notification(method: string, params: unknown): readonly ThreadEvent[] {
    const translate = translationOf(method);
    if (this.#state === "ended" || !translate || !isFields(params) || this.#isOfEarlierTurn(params)) return [];
    return [...this.#begin(), ...translate(params, this.#turn)];
  }

  /** The events to show before the question of an app-server request. */
  asked(params: unknown): readonly ThreadEvent[] {
    return this.#state === "ended" ? [] : startOfAskedPatch(this.#turn.items, params);
  }

  /** Closes open items, then emits the turn's only end. Empty when it has already ended. */
  end(ending: TurnEnding): readonly ThreadEvent[] {
    if (this.#state === "ended") return [];
    const start = this.#begin();
    this.#state = "ended";
    for (const id of this.#ids) this.#turn.memory.finishTurn(id);
    const closed = [...closeItems(this.#turn, ending.kind), ...answerCalls(this.#turn), ...endReview(this.#turn, ending.kind)];
    return [...start, ...closed, ...this.#survivedError(ending), turnEnd(ending, this.#turn)];
  }

  #begin(): readonly ThreadEvent[] {
    if (this.#state !== "new") return [];
    this.#state = "running";
    const { memory, settings } = this.#turn;
    const kept = memory.takeKept().flatMap(({ method, params }) => translationOf(method)?.(asFields(params), this.#turn) ?? []);
    const servers = memory.mcp.settle(settings.mcpServers.map(({ name }) => name));
    return [
      ...kept,
      ...servers,
      { type: "turnStarted", contextWindow: memory.contextWindow ?? settings.contextWindow ?? null },
      { type: "turnContext", settings: settingsInForce(settings), sandboxBackend: this.#sandboxBackend },
    ];
  }

  #isOfEarlierTurn(params: Readonly<Record<string, unknown>>): boolean {
    const id = params["turnId"] ?? asFields(params["turn"])["id"];
    if (this.#turn.memory.isFinished(id)) return true;
    if (typeof id === "string" && this.#ids.size < MOST_IDS) this.#ids.add(id);
    return false;
  }

  /** An error that did not end the turn after all. */
  #survivedError({ kind }: TurnEnding): readonly ThreadEvent[] {
    const { failure } = this.#turn;
    return kind === "completed" && failure ? [{ type: "warning", message: failure.message }] : [];
  }
}

/** How a turn ended, according to the app-server or the engine. */
export type TurnEnding =
  | { readonly kind: "completed" }
  | { readonly kind: "interrupted" }
  | { readonly kind: "failed"; readonly message: string; readonly info?: CodexErrorInfo };

/** The parameters of `turn/completed` → how it ended. An unknown status counts as a failure. */
export function turnEndOf(params: unknown): TurnEnding {
  const { status, error } = asFields(asFields(params)["turn"]);
  switch (status) {
    case "completed":
    case "interrupted":
      return { kind: status };
    default:
      return { kind: "failed", ...failureOf(asFields(error)) };
  }
}

function turnEnd(ending: TurnEnding, turn: TurnState): TurnEnd {
  const { lastMessage, openQuestions, failure } = turn;
  switch (ending.kind) {
    case "completed":
      return { type: "turnCompleted", lastMessage: withQuestions(lastMessage, openQuestions) };
    case "interrupted":
      return { type: "turnAborted", reason: "interrupted" };
    case "failed": {
      const told = failure?.message === ending.message ? failure.info : "other";
      const info = ending.info ?? told;
      return { type: "turnFailed", message: withRemedy({ message: ending.message, info }, turn), info };
    }
    default:
      return assertNever(ending);
  }
}

/** A caller may read only the last message, and would miss the question. */
function withQuestions(lastMessage: string | null, questions: readonly string[]): string | null {
  if (questions.length === 0) return lastMessage;
  return [...(lastMessage === null ? [] : [lastMessage]), ...questions.map((question) => `The agent asks: ${question}`)].join("\n\n");
}
