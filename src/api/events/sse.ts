import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { beginEventStream, isGone } from "../../http/answers.js";
import { Deadline } from "../../lib/promises.js";
import type { EventStreams } from "../base/apiParts.js";
import type { ApiEvent, ApiEventType } from "../schemas/events.js";
import type { EventSource } from "../timeline/eventSource.js";

export interface EventSending extends EventStreams {
  readonly headers: Readonly<Record<string, string>>;
  /** The requested event types; undefined for all. */
  readonly types: ReadonlySet<ApiEventType> | undefined;
  /** The first event. */
  readonly hello: ApiEvent;
  /** Aborts when the reader disconnects. */
  readonly signal: AbortSignal;
  /** Ends the source when the reader does not read. */
  readonly stop: () => void;
}

/** Events that are never filtered out: a reader needs them to know its position. */
const ALWAYS: ReadonlySet<ApiEventType> = new Set<ApiEventType>(["hello", "reset", "heartbeat"]);

/**
 * Writes events to a reader as fast as it reads, until it disconnects. Only the system's socket buffer queues data: the source keeps its
 * position. A reader that reads nothing for a while is disconnected.
 */
export async function sendEvents(response: ServerResponse, source: EventSource, options: EventSending): Promise<void> {
  const { headers, types, hello, keepAliveMs, signal, stop, open } = options;
  open.add(response);
  beginEventStream(response, headers);
  // A browser that lost its connection reconnects after this many milliseconds.
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
    open.delete(response);
    stop();
    response.end();
  }
}

/** False when the reader did not read in time, or is gone. */
async function drained(response: ServerResponse, { slowReaderMs, signal, disconnected }: EventSending): Promise<boolean> {
  using slow = new Deadline(slowReaderMs, () => new Error("The reader has not read in time."));
  try {
    await once(response, "drain", { signal: AbortSignal.any([slow.signal, signal]) });
    return true;
  } catch {
    if (slow.signal.aborted) {
      disconnected();
      response.destroy();
    }
    return false;
  }
}

function text(event: ApiEvent, id: string): string {
  return `id: ${id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
