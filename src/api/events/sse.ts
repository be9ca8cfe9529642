import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { beginEventStream, isGone } from "../../http/answers.js";
import type { EventLimits } from "../base/apiParts.js";
import type { ApiEvent, ApiEventType } from "../schemas/events.js";
import type { EventSource } from "../timeline/eventSource.js";

export interface EventSending extends EventLimits {
  readonly headers: Readonly<Record<string, string>>;
  /** Which events the reader wants; undefined for all. */
  readonly types: ReadonlySet<ApiEventType> | undefined;
  /** The first event. */
  readonly hello: ApiEvent;
  /** Aborted when the reader goes. */
  readonly signal: AbortSignal;
  /** Ends the source, when the reader does not read. */
  readonly stop: () => void;
}

/** Events that no filter leaves out: without them a reader cannot know where it is. */
const ALWAYS: ReadonlySet<ApiEventType> = new Set<ApiEventType>(["hello", "reset", "heartbeat"]);

/**
 * Writes events to a reader as fast as it reads, until it goes. Nothing is queued for it but what the system has taken: the source keeps its place. A
 * reader that takes nothing for a while is cut off.
 */
export async function sendEvents(response: ServerResponse, source: EventSource, options: EventSending): Promise<void> {
  const { headers, types, hello, keepAliveMs, signal, stop } = options;
  beginEventStream(response, headers);
  // A browser that lost its connection comes back after this many milliseconds.
  response.write(`retry: 1000\n${text(hello, source.place)}`);
  const heartbeat = setInterval(() => {
    if (response.writableNeedDrain) return;
    response.write(text({ type: "heartbeat", at: new Date().toISOString() }, source.place));
  }, keepAliveMs);
  try {
    for await (const { id, event } of source.read()) {
      if (isGone(response) || signal.aborted) break;
      if (types && !types.has(event.type) && !ALWAYS.has(event.type)) continue;
      if (!response.write(text(event, id)) && !(await drained(response, options))) break;
    }
  } finally {
    clearInterval(heartbeat);
    stop();
    response.end();
  }
}

/** False when the reader has not read in time, or is gone. */
async function drained(response: ServerResponse, { slowReaderMs, signal }: EventSending): Promise<boolean> {
  const slow = AbortSignal.timeout(slowReaderMs);
  try {
    await once(response, "drain", { signal: AbortSignal.any([slow, signal]) });
    return true;
  } catch {
    if (slow.aborted) response.destroy();
    return false;
  }
}

function text(event: ApiEvent, id: string): string {
  return `id: ${id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
