import type { ServerResponse } from "node:http";
import type { RequestId } from "../jsonrpc/message.js";
import type { Outbox } from "../mcp/over/streamableHttp/outbox.js";
import type { Kept } from "../mcp/over/streamableHttp/replayBuffer.js";
import type { Carrier, StreamKind } from "../mcp/over/streamableHttp/stream.js";

export const EVENT_STREAM_HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  // Proxies of the nginx family would otherwise hold events back.
  "x-accel-buffering": "no",
};

/** How long a client that lost a stream may come back for what it missed. */
export const COMES_BACK_WITHIN_MS = 5 * 60_000;

export interface SseOptions {
  readonly kind: StreamKind;
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly after?: number;
  readonly until?: RequestId;
  /** Begin with an event that is no message, so that a client can come back even if nothing else arrives. */
  readonly primed?: boolean;
}

/** Makes a response a stream of the session's messages. It ends with the session, with its last message, or when the client goes. */
export function openSse(response: ServerResponse, outbox: Outbox, options: SseOptions): void {
  const { kind, name, primed } = options;
  response.writeHead(200, { ...EVENT_STREAM_HEADERS, ...options.headers });
  const carrier = new SseCarrier(response, outbox);
  const stream = outbox.attach({
    name,
    kind,
    carrier,
    ...(options.after === undefined ? {} : { after: options.after }),
    ...(options.until === undefined ? {} : { until: options.until }),
  });
  if (primed) response.write(`id: ${outbox.names.eventId(name, stream.cursor)}\ndata:\n\n`);
  else response.flushHeaders();
  response.on("drain", () => outbox.drained(stream));
  response.once("close", () => outbox.detach(stream, { now: Date.now(), comesBackWithinMs: COMES_BACK_WITHIN_MS }));
}

class SseCarrier implements Carrier {
  constructor(
    private readonly response: ServerResponse,
    private readonly outbox: Outbox,
  ) {}

  write(messages: readonly Kept[], streamName: string): boolean {
    let frames = "";
    for (const { seq, text } of messages) frames += `id: ${this.outbox.names.eventId(streamName, seq)}\nevent: message\ndata: ${text}\n\n`;
    return this.response.write(frames);
  }

  keepAlive(): void {
    this.response.write(":\n\n");
  }

  end(how: "politely" | "at once"): void {
    if (how === "politely") this.response.end();
    else this.response.destroy();
  }
}
