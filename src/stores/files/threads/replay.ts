import type { Fields } from "../../../lib/fields.js";
import type { RawItem } from "../../../threads/items.js";
import { isReplayable, isUserMessage, textOf, userMessage } from "./responseItem.js";

/** About 20,000 tokens: what a compaction without a history of its own keeps of the user's words. */
const KEPT_USER_TEXT_CHARS = 80_000;

interface Entry {
  readonly item: RawItem;
  /** It is what a person asked, not context in the form of a user message. */
  readonly startsTurn: boolean;
}

/** What a model would have before it after the lines seen so far. */
export class Replay {
  #entries: Entry[] = [];

  get items(): RawItem[] {
    return this.#entries.map(({ item }) => item);
  }

  addItem(payload: unknown): void {
    if (isReplayable(payload)) this.#entries.push({ item: payload, startsTurn: false });
  }

  /** Codex writes what the user said as an item first, then as an event: the event tells it from context. */
  userSpoke({ kind }: Fields): void {
    if (typeof kind === "string" && kind !== "plain") return;
    const at = this.#entries.findLastIndex(({ item }) => isUserMessage(item));
    const said = this.#entries[at];
    if (said) this.#entries[at] = { ...said, startsTurn: true };
  }

  /** The last turns were taken back, each from its user's message on. */
  rolledBack({ num_turns: turns }: Fields): void {
    if (typeof turns !== "number" || turns < 1) return;
    const starts = this.#entries.flatMap(({ startsTurn }, at) => (startsTurn ? [at] : []));
    const from = starts.at(-turns) ?? starts[0];
    if (from !== undefined) this.#entries.length = from;
  }

  /** A summary took the place of the history. Older files say only the summary. */
  compacted({ message, replacement_history: replacement }: Fields): void {
    if (Array.isArray(replacement)) this.#replaceBy(replacement.filter(isReplayable));
    else if (typeof message === "string") this.#summarise(message);
  }

  #replaceBy(items: readonly RawItem[]): void {
    const asked = new Set(this.#asked.map(({ item }) => textOf(item)));
    this.#entries = items.map((item) => ({ item, startsTurn: isUserMessage(item) && asked.has(textOf(item)) }));
  }

  #summarise(summary: string): void {
    const asked = this.#asked;
    const context = asked[0] ? this.#entries.slice(0, this.#entries.indexOf(asked[0])) : this.#entries;
    this.#entries = [...context, ...mostRecent(asked), { item: userMessage(summary), startsTurn: false }];
  }

  get #asked(): Entry[] {
    return this.#entries.filter(({ startsTurn }) => startsTurn);
  }
}

/** As many of the last messages as there is room for; the oldest of them may be cut short. */
function mostRecent(asked: readonly Entry[]): Entry[] {
  const kept: Entry[] = [];
  let room = KEPT_USER_TEXT_CHARS;
  for (const entry of asked.toReversed()) {
    if (room <= 0) break;
    const text = textOf(entry.item);
    kept.push(text.length <= room ? entry : { item: userMessage(text.slice(0, room)), startsTurn: true });
    room -= text.length;
  }
  return kept.reverse();
}
