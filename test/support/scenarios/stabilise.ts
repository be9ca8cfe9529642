import { isRecord, valueAt } from "./scenario.js";
import type { Entry, Transcript } from "./transcript.js";

/** The placeholder for a text that must not be empty but may have any wording. */
export const WORDING = "<wording>";

const VARYING_KEYS = new Set(["rollout_path", "user_agent", "version", "duration", "process_id", "timestamp"]);

/**
 * Makes two runs comparable: ids are named after the call in which they first appear (so calls may interleave); times, durations
 * and values that differ between machines become placeholders. Stabilising twice changes nothing.
 */
export function stabilise(transcript: Transcript): Transcript {
  const names = new IdNames();
  return transcript.map((entry): Entry => {
    if ("msg" in entry) return { ...entry, msg: stableValue(entry.msg, (text) => names.replaceIn(text, ownerOf(entry.msg))) };
    return entry;
  });
}

/** The call a message belongs to. */
function ownerOf(message: unknown): string {
  if (!isRecord(message)) return "none";
  return JSON.stringify(valueAt(message, "params._meta.requestId") ?? message["id"] ?? "none");
}

class IdNames {
  readonly #names = new Map<string, string>();
  readonly #counts = new Map<string, number>();

  replaceIn(text: string, owner: string): string {
    return text
      .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/gi, (id) => this.#nameOf(id, "id", owner))
      .replaceAll(/\b(call|msg|fc|resp|rs)_\d+\b/g, (id, kind: string) => this.#nameOf(id, kind, owner));
  }

  #nameOf(id: string, kind: string, owner: string): string {
    const known = this.#names.get(id);
    if (known !== undefined) return known;
    const place = `${kind} of ${owner}`;
    const count = (this.#counts.get(place) ?? 0) + 1;
    this.#counts.set(place, count);
    const name = `<${kind} ${count} of ${owner}>`;
    this.#names.set(id, name);
    return name;
  }
}

function stableValue(value: unknown, replaceIds: (text: string) => string): unknown {
  if (typeof value === "string") return withoutTimes(replaceIds(value));
  if (Array.isArray(value)) return value.map((entry) => stableValue(entry, replaceIds));
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [replaceIds(key), VARYING_KEYS.has(key) ? "<varies>" : stableValue(entry, replaceIds)]),
  );
}

function withoutTimes(text: string): string {
  return text
    .replaceAll(/^Chunk ID: [0-9a-f]{6}$/gm, "Chunk ID: <chunk>")
    .replaceAll(/^Process running with session ID \d+$/gm, "Process running with session ID <session>")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.-]+Z?/g, "<time>")
    .replaceAll(/\b\d+(?:\.\d+)? ?(?:ms|seconds?|s)\b/g, "<span>")
    .replaceAll(/(?<="duration_seconds":)\d+(?:\.\d+)?/g, '"<span>"');
}

/** Our message with the recording's texts, wherever the recording allows any wording. */
export function withFreeWording(ours: unknown, recorded: unknown): unknown {
  if (recorded === WORDING && typeof ours === "string" && ours !== "") return WORDING;
  if (Array.isArray(ours) && Array.isArray(recorded)) return ours.map((entry, at) => withFreeWording(entry, recorded[at]));
  if (!isRecord(ours) || !isRecord(recorded)) return ours;
  return Object.fromEntries(Object.entries(ours).map(([key, entry]) => [key, withFreeWording(entry, recorded[key])]));
}
