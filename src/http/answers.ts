import type { ServerResponse } from "node:http";
import { sendScheduler } from "./fairScheduler.js";
import type { HttpProblem, ProblemText } from "./problem.js";

export interface AnswerOptions {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
}

export function sendJson(response: ServerResponse, text: string, { status, headers = {} }: AnswerOptions): void {
  const own = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
  // A spread would be slower by more than all else that is done with headers.
  response.writeHead(status, Object.assign(own, headers)).end(text);
}

/** There is nobody to send anything to any more. */
export function isGone({ destroyed, closed }: ServerResponse): boolean {
  return destroyed || closed;
}

export function sendNothing(response: ServerResponse, { status, headers = {} }: AnswerOptions): void {
  response.writeHead(status, { ...headers, ...(status === 204 ? {} : { "content-length": 0 }) }).end();
}

/** `also` is what every answer to the request carries. */
export function sendProblem(
  response: ServerResponse,
  problem: HttpProblem,
  { text, also }: { readonly text: ProblemText; readonly also: Readonly<Record<string, string>> },
): void {
  sendJson(response, text(problem), { status: problem.status, headers: { ...also, ...problem.headers } });
}

interface Ready {
  readonly response: ServerResponse;
  readonly text: string;
  readonly options: AnswerOptions;
}

/**
 * Answers leave one right after the other when all that arrived with their requests has been looked at. Whoever waits for them is
 * woken once for all and not for each, which under load is a quarter of what a small request costs; a single answer leaves as soon.
 */
class ResponseBatcher {
  #ready: Ready[] = [];

  send(response: ServerResponse, text: string, options: AnswerOptions): void {
    // Streams that are being served would have their turns first, and an answer is not to wait for those.
    if (sendScheduler.isBusy) sendJson(response, text, options);
    else if (this.#ready.push({ response, text, options }) === 1) setImmediate(() => this.#sendAll());
  }

  #sendAll(): void {
    const ready = this.#ready;
    this.#ready = [];
    for (const { response, text, options } of ready) if (!isGone(response)) sendJson(response, text, options);
  }
}

/** For all connections: there is one event loop. */
export const responseBatcher: Pick<ResponseBatcher, "send"> = new ResponseBatcher();

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
