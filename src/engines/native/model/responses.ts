import type { IncomingMessage } from "node:http";
import { createParser } from "eventsource-parser";
import { describe } from "../../../lib/errors.js";
import type { ModelProvider } from "../../../threads/model.js";
import { type ModelClient, type ModelEvent, ModelFailure, type ModelRequest } from "./client.js";
import type { CredentialSources } from "./credentials.js";
import { decodeEvent } from "./decode.js";
import { failureOfStatus } from "./failures.js";
import { sendRequest } from "./http.js";
import { IdleLimit } from "./idleLimit.js";
import { endpoint, providerHeaders, shownUrl } from "./provider.js";
import { readRateLimits } from "./rateLimits.js";

/** Error bodies are shown to people; more than this helps nobody. */
const MAX_ERROR_BODY = 64 * 1024;
/** An answer past this is a stream that never ends, not an answer. */
const MAX_ANSWER_BYTES = 128 * 1024 * 1024;
/** After the answer is complete the connection may be reused if the server ends it within this time. */
const LINGER_MS = 1_000;

export interface ResponsesOptions extends CredentialSources {
  readonly provider: ModelProvider;
  readonly userAgent: string;
  readonly threadId: string;
}

/** The Responses API of one provider, streaming. Retries are the caller's, so that each can be announced. */
export class ResponsesClient implements ModelClient {
  readonly #options: ResponsesOptions;
  readonly #url: URL;

  constructor(options: ResponsesOptions) {
    this.#options = options;
    this.#url = endpoint(options.provider, "responses");
  }

  async *stream({ body }: ModelRequest, signal: AbortSignal): AsyncGenerator<readonly ModelEvent[]> {
    const { provider } = this.#options;
    if (provider.wireApi !== "responses") throw unsupportedWire(provider);
    const headers = this.#headers();
    const idle = new IdleLimit(provider.streamIdleTimeoutMs, signal);
    try {
      const response = await this.#send({ headers, body, signal: idle.signal });
      idle.touch();
      if ((response.statusCode ?? 0) >= 300) throw await this.#refused(response);
      yield [{ type: "accepted", rateLimits: readRateLimits(response.headers) }];
      yield* readAnswer(response, idle);
    } catch (error) {
      signal.throwIfAborted();
      throw idle.expired
        ? new ModelFailure("stream disconnected before completion: idle timeout waiting for SSE", { retry: "stream" })
        : error;
    } finally {
      idle.stop();
    }
  }

  async #send(options: { headers: Record<string, string>; body: string; signal: AbortSignal }): Promise<IncomingMessage> {
    try {
      return await sendRequest(this.#url, { method: "POST", ...options });
    } catch (error) {
      throw new ModelFailure(`stream disconnected before completion: error sending request for url (${shownUrl(this.#url)})`, {
        retry: "request",
        cause: error,
      });
    }
  }

  async #refused(response: IncomingMessage): Promise<ModelFailure> {
    return failureOfStatus({
      status: response.statusCode ?? 0,
      headers: response.headers,
      body: await readStart(response, MAX_ERROR_BODY),
      url: shownUrl(this.#url),
    });
  }

  #headers(): Record<string, string> {
    const { userAgent, threadId } = this.#options;
    return {
      "content-type": "application/json",
      accept: "text/event-stream",
      "user-agent": userAgent,
      session_id: threadId,
      ...providerHeaders(this.#options.provider, this.#options),
    };
  }
}

async function* readAnswer(response: IncomingMessage, idle: IdleLimit): AsyncGenerator<readonly ModelEvent[]> {
  let events: ModelEvent[] = [];
  let failure: unknown;
  let done = false;
  const parser = createParser({
    onEvent({ data }) {
      idle.touch();
      if (done || failure !== undefined) return;
      try {
        const event = data === "[DONE]" ? undefined : decodeEvent(parseJson(data));
        if (event) events.push(event);
        done = event?.type === "completed";
      } catch (error) {
        failure = error;
      }
    },
  });
  let bytes = 0;
  response.setEncoding("utf8");
  try {
    for await (const chunk of response.iterator({ destroyOnReturn: false }) as AsyncIterable<string>) {
      bytes += chunk.length;
      parser.feed(chunk);
      if (events.length > 0) yield events;
      events = [];
      if (failure !== undefined) throw failure;
      if (done) return;
      if (bytes > MAX_ANSWER_BYTES)
        throw new ModelFailure("stream disconnected before completion: the answer does not end", { retry: "never" });
    }
  } catch (error) {
    response.destroy();
    throw error instanceof ModelFailure ? error : brokenOff(error);
  } finally {
    if (!response.destroyed) letGo(response, done);
  }
  throw new ModelFailure("stream disconnected before completion: stream closed before response.completed", { retry: "stream" });
}

function brokenOff(error: unknown): ModelFailure {
  return new ModelFailure("stream disconnected before completion: Transport error: network error: error decoding response body", {
    retry: "stream",
    cause: error,
  });
}

/** A complete answer's connection is kept for the next request; any other is closed. */
function letGo(response: IncomingMessage, complete: boolean): void {
  if (!complete) {
    response.destroy();
    return;
  }
  const linger = setTimeout(() => response.destroy(), LINGER_MS);
  response.once("close", () => clearTimeout(linger));
  response.once("error", () => clearTimeout(linger));
  response.resume();
}

async function readStart(response: IncomingMessage, limit: number): Promise<string> {
  let text = "";
  response.setEncoding("utf8");
  try {
    for await (const chunk of response as AsyncIterable<string>) {
      text += chunk;
      if (text.length >= limit) break;
    }
  } catch (error) {
    text += ` (the rest of the answer could not be read: ${describe(error)})`;
  }
  return text.slice(0, limit);
}

// Garbage between events is skipped, as Codex does: if it mattered, the answer does not complete, and that is the error.
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unsupportedWire(provider: ModelProvider): ModelFailure {
  return new ModelFailure(
    `Provider \`${provider.id}\` is configured with wire_api = "${provider.wireApi}", which this server does not speak. ` +
      `Set wire_api = "responses" in [model_providers.${provider.id}] of config.toml if the provider offers the Responses API.`,
    { retry: "never" },
  );
}
