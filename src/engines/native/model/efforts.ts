import { EffortNotOffered } from "../../../threads/errors.js";
import type { ReasoningEffort, ThreadSettings } from "../../../threads/settings.js";
import { traitsOf } from "./modelTraits.js";

/** The words of all families, weakest first. */
const WEAKEST_FIRST: readonly ReasoningEffort[] = ["none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"];

/** What one provider says about the efforts of one model; absent when it says nothing. */
export type OfferedEfforts = readonly ReasoningEffort[] | undefined;

/** The efforts that a model may be asked for; undefined where only the provider knows, empty where it does not think. */
export function offeredEfforts(settings: ThreadSettings, listed?: OfferedEfforts): OfferedEfforts {
  return listed ?? traitsOf(settings).efforts;
}

/** Throws `EffortNotOffered`. A model that does not think is not told how hard to, whatever the configuration says for others. */
export function checkEffort(settings: ThreadSettings, listed?: OfferedEfforts): void {
  const { model, reasoningEffort: effort } = settings;
  const offered = offeredEfforts(settings, listed);
  if (effort === undefined || !offered || offered.length === 0 || offered.includes(effort)) return;
  throw new EffortNotOffered(effort, { model, offered });
}

/** The settings with an effort that their model offers: the strongest that is not above the one they have. */
export function withOfferedEffort(settings: ThreadSettings, listed?: OfferedEfforts): ThreadSettings {
  const { reasoningEffort: effort } = settings;
  const offered = offeredEfforts(settings, listed);
  if (effort === undefined || !offered || offered.length === 0 || offered.includes(effort)) return settings;
  const most = WEAKEST_FIRST.indexOf(effort);
  const reasoningEffort = offered.findLast((word) => WEAKEST_FIRST.indexOf(word) <= most) ?? offered[0];
  return { ...settings, ...(reasoningEffort !== undefined && { reasoningEffort }) };
}

/** The effort as the API knows it; undefined for the model's own. */
export function effortOnTheWire(settings: ThreadSettings): ReasoningEffort | undefined {
  const { defaultEffort, ultraIsSentAs } = traitsOf(settings);
  const effort = settings.reasoningEffort ?? defaultEffort;
  return effort === "ultra" ? (ultraIsSentAs ?? effort) : effort;
}
