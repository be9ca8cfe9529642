import { isDeepStrictEqual } from "node:util";
import { isDelta } from "../model/deltas.js";
import { isRecord } from "./scenario.js";
import { withFreeWording } from "./stabilise.js";
import type { Transcript } from "./transcript.js";
import { type View, viewOf } from "./transcriptView.js";

export type Aspect = keyof View;

/** The placeholder for a message that was not sent. */
export const NOTHING = "nothing";

export interface Difference {
  readonly aspect: Aspect;
  /** The call or event type it is about; empty when it is about the whole run. */
  readonly about: string;
  readonly recorded: unknown;
  readonly ours: unknown;
}

/** The differences between our run and the reference. */
export function compareTranscripts(recording: Transcript, played: Transcript): Difference[] {
  const recorded = viewOf(recording);
  const ours = viewOf(played);
  return [
    ...compareEach("answers", recorded.answers, ours.answers),
    ...compareWhole("questions", recorded.questions, ours.questions),
    ...compareWhole("notifications", recorded.notifications, ours.notifications),
    ...compareEach("events", recorded.events, ours.events),
    ...missingFields(recorded.fields, ours.fields),
    ...compareContents(recorded, ours),
    ...(recorded.requests.length > 0 ? compareDetails("requests", recorded.requests, ours.requests) : []),
    ...compareWhole("ending", recorded.ending, ours.ending),
    ...compareWhole("noise", recorded.noise, ours.noise),
  ];
}

export function describeDifference({ aspect, about, recorded, ours }: Difference): string {
  return `${aspect}${about && ` of ${about}`}:\n    recorded ${inShort(recorded)}\n    ours     ${inShort(ours)}`;
}

function inShort(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 1_500 ? `${text.slice(0, 1_500)}…` : text;
}

function compareWhole(aspect: Aspect, recorded: unknown, ours: unknown, about = ""): Difference[] {
  const reworded = withFreeWording(ours, recorded);
  return isDeepStrictEqual(recorded, reworded) ? [] : [{ aspect, about, recorded, ours: reworded }];
}

function compareEach(aspect: Aspect, recorded: Readonly<Record<string, unknown>>, ours: Readonly<Record<string, unknown>>): Difference[] {
  const names = new Set([...Object.keys(recorded), ...Object.keys(ours)]);
  return [...names].flatMap((name) => compareWhole(aspect, recorded[name], ours[name], name));
}

/** We may send more than the reference, and leave out types of events; an event that we send must have all its fields. */
function missingFields(recorded: View["fields"], ours: View["fields"]): Difference[] {
  return Object.entries(recorded).flatMap(([type, keys]) => {
    const own = ours[type];
    return own
      ? compareWhole(
          "fields",
          keys,
          keys.filter((key) => own.includes(key)),
          type,
        )
      : [];
  });
}

/**
 * A different order of a call's events is reported. Their contents are compared as far as events can be matched: if both
 * sent as many of a type, and for the same turn.
 */
function compareContents(recorded: View, ours: View): Difference[] {
  return Object.keys(recorded.contents).flatMap((call) => {
    const sameOrder = isDeepStrictEqual(recorded.events[call], ours.events[call]);
    const cutShort = [recorded, ours].some(({ events }) => events[call]?.includes("turn_aborted"));
    return typesIn(call, [recorded, ours])
      .filter((type) => !(cutShort && isDelta(type)))
      .map((type) => ({ type, theirs: recorded.contents[call]?.[type], own: ours.contents[call]?.[type] }))
      .filter(({ theirs, own }) => sameOrder || isDeepStrictEqual(theirs?.map(turnOf), own?.map(turnOf)))
      .flatMap(({ type, theirs, own }) => compareDetails("contents", theirs, own, `${type} of call ${call}`));
  });
}

function turnOf(event: unknown): unknown {
  return isRecord(event) ? event["params.id"] : undefined;
}

function typesIn(call: string, views: readonly View[]): string[] {
  return [...new Set(views.flatMap(({ contents }) => Object.keys(contents[call] ?? {})))];
}

/** As `compareWhole`, but reports the differing values with their dotted paths. */
function compareDetails(aspect: Aspect, recorded: unknown, ours: unknown, about = ""): Difference[] {
  const leaves = differingLeaves(recorded, withFreeWording(ours, recorded), "");
  const [first] = leaves;
  if (first === undefined) return [];
  if (first.path === "") return [{ aspect, about, recorded: first.recorded, ours: first.ours }];
  return [
    {
      aspect,
      about,
      recorded: Object.fromEntries(leaves.map((leaf) => [leaf.path, orNothing(leaf.recorded)])),
      ours: Object.fromEntries(leaves.map((leaf) => [leaf.path, orNothing(leaf.ours)])),
    },
  ];
}

function orNothing(value: unknown): unknown {
  return value === undefined ? NOTHING : value;
}

interface Leaf {
  readonly path: string;
  readonly recorded: unknown;
  readonly ours: unknown;
}

function differingLeaves(recorded: unknown, ours: unknown, path: string): Leaf[] {
  if (isDeepStrictEqual(recorded, ours)) return [];
  if (!isRecord(recorded) || !isRecord(ours) || Array.isArray(recorded) !== Array.isArray(ours) || recorded["length"] !== ours["length"])
    return [{ path, recorded, ours }];
  const keys = new Set([...Object.keys(recorded), ...Object.keys(ours)]);
  return [...keys].flatMap((key) => differingLeaves(recorded[key], ours[key], path === "" ? key : `${path}.${key}`));
}
