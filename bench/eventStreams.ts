import { fork } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "./pinger.js";

/** Streams of one address, and the events that complete them. */
export interface StreamPlan {
  readonly url: string;
  readonly count: number;
  /** The type of the event that ends a turn, and how many turns will have ended. */
  readonly end: string;
  readonly ends: number;
  /** No event follows the last of them, so that the contents of streams can be compared. */
  readonly endsLast: boolean;
}

/** What one stream received. */
export interface ReadStream {
  readonly url: string;
  readonly events: number;
  readonly ends: number;
  /** A digest of all its events in order: streams of one address with the same events have the same digest. */
  readonly digest: string;
}

const LAST_EVENT_DEADLINE_MS = 60_000;

/** Opens the streams in another process, does the work, and resolves when every stream has shown all ends, or at the deadline. */
export async function readDuring(plans: readonly StreamPlan[], work: () => Promise<void>): Promise<readonly ReadStream[]> {
  const reader = fork("scripts/run-ts.mjs", ["bench/eventReader.ts", JSON.stringify(plans)], { stdio: "inherit" });
  const late = new AbortController();
  try {
    await messageOf(reader);
    const told = messageOf(reader);
    // Awaited below; failed work must not leave the promise unhandled.
    told.catch(() => {});
    await work();
    const overdue = sleep(LAST_EVENT_DEADLINE_MS, undefined, { signal: late.signal }).then(
      () => reader.send("stop"),
      () => {},
    );
    const streams = await told;
    late.abort();
    await overdue;
    if (!Array.isArray(streams)) throw new Error("the reader reported nothing");
    return streams;
  } finally {
    late.abort();
    reader.kill();
  }
}

/** Incomplete streams: those that lack an end of a turn, or events that others of the same address got. */
export function incompleteStreams(streams: readonly ReadStream[], plans: readonly StreamPlan[]): readonly ReadStream[] {
  return plans.flatMap(({ url, ends, endsLast }) => {
    const same = streams.filter((stream) => stream.url === url);
    const most = same.reduce<ReadStream | undefined>((best, each) => (best && best.events >= each.events ? best : each), undefined);
    return same.filter((stream) => stream.ends !== ends || (endsLast && stream.digest !== most?.digest));
  });
}
