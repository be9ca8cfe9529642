import type { IncomingMessage } from "node:http";
import { StringDecoder } from "node:string_decoder";
import { describe, errorCode } from "../../../lib/errors.js";
import { IdleDeadline } from "../../../lib/promises.js";
import type { ModelProvider } from "../../../threads/settings.js";
import { aboutKey } from "./advice.js";
import { type ModelClient, type ModelEvent, ModelFailure, type ModelRequest } from "./client.js";
import { EventReader, EventStreamReader } from "./decode.js";
import { failureOfStatus, maskSent } from "./failures.js";
import { readStart, sendRequest } from "./http.js";
import { type CredentialSources, endpoint, providerHeaders, readRateLimits, shownUrl } from "./provider.js";

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
  /** Told the headers of every answer. */
  readonly heard?: (headers: IncomingMessage["headers"]) => void;
}

/** The Responses API of one provider, streaming. Retries are the caller's, so that each can be announced. */
export class ResponsesClient implements ModelClient {
  readonly #options: ResponsesOptions;

  constructor(options: ResponsesOptions) {
    this.#options = options;
  }

  async *stream({ body }: ModelRequest, signal: AbortSignal): AsyncGenerator<readonly ModelEvent[]> {
    const { provider } = this.#options;
    if (provider.wireApi !== "responses") throw unsupportedWire(provider);
    const url = endpoint(provider, "responses");
    const own = providerHeaders(provider, this.#options);
    const headers = { ...this.#headers(), ...own };
    using idle = new IdleDeadline(provider.streamIdleTimeoutMs, signal);
    try {
      const response = await this.#send(url, { headers, body, signal: idle.signal });
      idle.touch();
      this.#options.heard?.(response.headers);
      if (response.statusCode === 401) throw aboutKey(await refused(response, { url, sent: own }), provider, this.#options);
      if ((response.statusCode ?? 0) >= 300) throw await refused(response, { url, sent: own });
      yield* readAnswer(response, idle);
    } catch (error) {
      signal.throwIfAborted();
      if (idle.hasPassed)
        throw new ModelFailure("stream disconnected before completion: idle timeout waiting for SSE", { retry: "stream" });
      throw error instanceof ModelFailure ? error.reworded(maskSent(error.message, own, url)) : error;
    }
  }

  async #send(url: URL, options: { headers: Record<string, string>; body: string; signal: AbortSignal }): Promise<IncomingMessage> {
    try {
      return await sendRequest(url, { method: "POST", env: this.#options.env, ...options });
    } catch (error) {
      if (errorCode(error) === "ERR_INVALID_CHAR") throw unsendableHeader(this.#options.provider, error);
      throw new ModelFailure(`stream disconnected before completion: error sending request for url (${shownUrl(url)})`, {
        retry: "request",
        cause: error,
      });
    }
  }

  #headers(): Record<string, string> {
    const { userAgent, threadId } = this.#options;
    return {
      "content-type": "application/json",
      accept: "text/event-stream",
      "user-agent": userAgent,
      session_id: threadId,
    };
  }
}

async function refused(response: IncomingMessage, { url, sent }: { url: URL; sent: Record<string, string> }): Promise<ModelFailure> {
  return failureOfStatus({
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: maskSent(await readStart(response, MAX_ERROR_BODY), sent, url),
    url: shownUrl(url),
  });
}

async function* readAnswer(response: IncomingMessage, idle: IdleDeadline): AsyncGenerator<readonly ModelEvent[]> {
  let events: ModelEvent[] = [];
  let failure: unknown;
  let done = false;
  let heard = false;
  const reader = new EventReader();
  const stream = new EventStreamReader((data) => {
    heard = true;
    if (done || failure !== undefined) return;
    try {
      const event = reader.read(data);
      if (event) events.push(event);
      done = event?.type === "completed";
    } catch (error) {
      failure = error;
    }
  });
  let bytes = 0;
  // Not `setEncoding`: it decodes every piece of the wire for itself, and an answer comes in thousands.
  const text = new StringDecoder("utf8");
  try {
    yield [{ type: "accepted", rateLimits: readRateLimits(response.headers) }];
    for await (const chunk of response.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      stream.feed(text.write(chunk));
      if (heard) idle.touch();
      heard = false;
      if (events.length > 0) yield events;
      events = [];
      if (failure !== undefined) throw failure;
      if (done) return;
      if (bytes > MAX_ANSWER_BYTES)
        throw new ModelFailure("stream disconnected before completion: the answer does not end", { retry: "never" });
    }
  } catch (error) {
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
  response.resume();
}

function unsendableHeader(provider: ModelProvider, cause: unknown): ModelFailure {
  // Node names the header, never its value.
  return new ModelFailure(
    `Provider \`${provider.id}\` cannot be asked: ${describe(cause)}. Check its key and its headers in config.toml.`,
    {
      retry: "never",
      cause,
    },
  );
}

function unsupportedWire(provider: ModelProvider): ModelFailure {
  return new ModelFailure(
    `Provider \`${provider.id}\` is configured with wire_api = "${provider.wireApi}", which this server does not speak. ` +
      `Set wire_api = "responses" in [model_providers.${provider.id}] of config.toml if the provider offers the Responses API.`,
    { retry: "never" },
  );
}
