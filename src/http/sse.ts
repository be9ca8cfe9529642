import type { ServerResponse } from "node:http";

const EVENT_STREAM_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  // Proxies of the nginx family would otherwise hold events back.
  "x-accel-buffering": "no",
};

/** Makes a response a stream of events. The headers leave with the first of them, or with `flushHeaders`. */
export function beginEventStream(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
  response.writeHead(200, { ...EVENT_STREAM_HEADERS, ...headers });
}

/** A comment: clients do not see it, and nobody on the way takes the connection for dead. */
export const KEEP_ALIVE = ":\n\n";

/** One event of the type `message`. The data must be on one line, as JSON is. */
export function messageEvent(data: string, id?: string): string {
  return id === undefined ? `event: message\ndata: ${data}\n\n` : `id: ${id}\nevent: message\ndata: ${data}\n\n`;
}
