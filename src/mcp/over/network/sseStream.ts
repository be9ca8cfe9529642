import type { ServerResponse } from "node:http";
import { beginEventStream, KEEP_ALIVE, messageEvent } from "../../../http/answers.js";
import type { RequestId } from "../../../jsonrpc/message.js";
import type { Outbox } from "./outbox.js";
import type { SentMessage } from "./replayBuffer.js";
import type { StreamKind, StreamSink } from "./stream.js";

/** How long a client that lost a stream may come back for what it missed. */
const COMES_BACK_WITHIN_MS = 5 * 60_000;

export interface SseOptions {
  readonly kind: StreamKind;
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly after?: number;
  readonly until?: RequestId;
  /** Begin with an event that is no message, so that a client can come back even if nothing else arrives. */
  readonly primed?: boolean;
  /** The request that all of it is about. */
  readonly about?: RequestId | undefined;
}

/** Makes a response a stream of the session's messages. It ends with the session, with its last message, or when the client goes. */
export function openSse(response: ServerResponse, outbox: Outbox, { headers, primed, about, ...place }: SseOptions): void {
  beginEventStream(response, headers);
  const { streams } = outbox;
  const sink = new SseSink(response, (streamName, message) => outbox.eventId(streamName, message));
  const stream = streams.attach({ ...place, sink });
  if (primed) response.write(`id: ${outbox.eventId(place.name, { seq: stream.cursor, request: about })}\ndata:\n\n`);
  else response.flushHeaders();
  response.on("drain", () => streams.drained(stream));
  response.once("close", () => streams.detach(stream, { now: Date.now(), comesBackWithinMs: COMES_BACK_WITHIN_MS }));
}

export class SseSink implements StreamSink {
  readonly #response: ServerResponse;
  readonly #eventId: ((streamName: string, message: SentMessage) => string) | undefined;
  constructor(
    response: ServerResponse,
    /** Absent for clients that do not know event ids. */
    eventId?: (streamName: string, message: SentMessage) => string,
  ) {
    this.#response = response;
    this.#eventId = eventId;
  }

  write(messages: readonly SentMessage[], streamName: string): boolean {
    let events = "";
    for (const message of messages) events += messageEvent(message.text, this.#eventId?.(streamName, message));
    return this.#response.write(events);
  }

  keepAlive(): void {
    this.#response.write(KEEP_ALIVE);
  }

  end(how: "politely" | "at once"): void {
    if (how === "politely") this.#response.end();
    else this.#response.destroy();
  }
}
