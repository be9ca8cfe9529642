import type { ServerResponse } from "node:http";
import { type AnswerOptions, isGone, sendJson } from "./answers.js";
import { sendScheduler } from "./fairScheduler.js";

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
