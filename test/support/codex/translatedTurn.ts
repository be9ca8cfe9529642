import { ThreadMemory } from "../../../src/engines/codex/translate/threadMemory.js";
import { type TurnEnding, TurnTranslator } from "../../../src/engines/codex/translate/turnTranslator.js";
import type { ReviewTarget, ThreadEvent } from "../../../src/threads/events.js";
import type { ThreadSettings } from "../../../src/threads/settings.js";
import { settingsIn } from "../threads/rollouts.js";

type Fields = Readonly<Record<string, unknown>>;

/** A notification of the app-server. */
export type Told = readonly [method: string, params: Fields];

export const WORKSPACE = "/ws";

export function began(item: Fields): Told {
  return ["item/started", { turnId: "turn-1", item }];
}

export function done(item: Fields): Told {
  return ["item/completed", { turnId: "turn-1", item }];
}

export interface Telling {
  readonly settings?: Partial<ThreadSettings>;
  readonly memory?: ThreadMemory;
  readonly reviewTarget?: ReviewTarget;
}

export function translatorFor({ settings = {}, memory = new ThreadMemory(), reviewTarget }: Telling = {}): TurnTranslator {
  return new TurnTranslator({ memory, settings: settingsIn(WORKSPACE, settings), reviewTarget, sandboxBackend: "codex" });
}

/** The settings that the turn reports. */
export function contextOf(settings: Partial<ThreadSettings> = {}): ThreadEvent {
  return { type: "turnContext", settings: settingsIn(WORKSPACE, settings), sandboxBackend: "codex" };
}

/** The events for these notifications, after the turn has begun. */
export function shownAs(told: readonly Told[], telling: Telling = {}): ThreadEvent[] {
  const translator = translatorFor(telling);
  translator.notification("turn/started", {});
  return told.flatMap(([method, params]) => translator.notification(method, params));
}

/** The events at the end of a turn whose last notifications are these. */
export function endingOf(told: readonly Told[], ending: TurnEnding, telling: Telling = {}): readonly ThreadEvent[] {
  const translator = translatorFor(telling);
  for (const [method, params] of told) translator.notification(method, params);
  return translator.end(ending);
}
