import { createParser } from "eventsource-parser";
import type { ApiEvent } from "../../../src/api/schemas/events.js";
import { ApiFailure, apiUrl, failureOf, reached } from "./requests.js";

/** The server sends heartbeats more often than this. After a longer silence, for example when the browser suspended the tab, the stream is opened again. */
const SILENCE_MS = 45_000;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 15_000;

export type Connection = "connecting" | "open" | "lost";

export interface StreamOptions {
  readonly path: string;
  /** The id of the event to resume after; without it, only new events. */
  readonly after?: string | undefined;
  readonly onEvent: (event: ApiEvent) => void;
  /** After each event: the id to resume after. */
  readonly onPlace?: (place: string) => void;
  readonly onConnection: (connection: Connection) => void;
  /** The server refuses permanently, for example because the user is not logged in or the thread does not exist. */
  readonly onRefused: (failure: ApiFailure) => void;
  readonly signal: AbortSignal;
}

/**
 * Follows events until the signal aborts. Unlike `EventSource`, it retries after temporary refusals, notices a silent connection, and can start after a
 * given event.
 */
export async function followEvents({ path, after, onEvent, onPlace, onConnection, onRefused, signal }: StreamOptions): Promise<void> {
  let place = after;
  let retryMs = FIRST_RETRY_MS;
  while (!signal.aborted) {
    const attempt = new AbortController();
    const ended = AbortSignal.any([signal, attempt.signal]);
    let silence: ReturnType<typeof setTimeout> | undefined;
    const heard = () => {
      clearTimeout(silence);
      silence = setTimeout(() => attempt.abort(), SILENCE_MS);
    };
    try {
      heard();
      const response = await reached(apiUrl(path, { after: place }), { signal: ended, headers: { accept: "text/event-stream" } });
      if (!response.ok || !response.body) throw await failureOf(response);
      const parser = createParser({
        onEvent: ({ id, data }) => {
          if (signal.aborted) return;
          if (id) place = id;
          if (id) onPlace?.(id);
          onEvent(JSON.parse(data) as ApiEvent);
        },
      });
      onConnection("open");
      const text = response.body.pipeThrough(new TextDecoderStream());
      const reader = text.getReader();
      for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
        heard();
        retryMs = FIRST_RETRY_MS;
        parser.feed(piece.value);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiFailure && isFinal(error)) {
        onRefused(error);
        return;
      }
    } finally {
      clearTimeout(silence);
      attempt.abort();
    }
    onConnection("lost");
    await pause(retryMs, signal);
    retryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS);
  }
}

function isFinal({ status }: ApiFailure): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

/** Waits for the time, or until the browser is online again or the tab becomes visible. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const over = new AbortController();
    const done = () => {
      clearTimeout(timer);
      over.abort();
      resolve();
    };
    const timer = setTimeout(done, ms);
    const until = { signal: over.signal };
    signal.addEventListener("abort", done, until);
    window.addEventListener("online", done, until);
    document.addEventListener("visibilitychange", () => !document.hidden && done(), until);
  });
}
