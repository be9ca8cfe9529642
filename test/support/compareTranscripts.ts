import { isDeepStrictEqual } from "node:util";
import { withFreeWording } from "./stabilise.js";
import type { Transcript } from "./transcript.js";
import { type View, viewOf } from "./transcriptView.js";

export type Aspect = keyof View;

export interface Difference {
  readonly aspect: Aspect;
  /** The call or event type it is about; empty when it is about the whole run. */
  readonly about: string;
  readonly recorded: unknown;
  readonly ours: unknown;
}

/** Where what we played is not what the reference did. */
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
    ...(recorded.requests.length > 0 ? compareWhole("requests", recorded.requests, ours.requests) : []),
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

/** We may send more than the reference, and leave out types of events; an event that is sent carries all its fields. */
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

/** A call whose events come in another order is told by that; what is in them is compared where they can be matched. */
function compareContents(recorded: View, ours: View): Difference[] {
  return Object.keys(recorded.contents)
    .filter((call) => isDeepStrictEqual(recorded.events[call], ours.events[call]))
    .flatMap((call) =>
      compareEach("contents", recorded.contents[call] ?? {}, ours.contents[call] ?? {}).map((found) => aboutCall(found, call)),
    );
}

function aboutCall(difference: Difference, call: string): Difference {
  return { ...difference, about: `${difference.about} of call ${call}` };
}
