import type { IncomingMessage } from "node:http";
import { pipeline, Readable, Transform } from "node:stream";
import type {
  FetchLike,
  JSONRPCMessage,
  StreamableHTTPClientTransport,
  Transport,
  TransportSendOptions,
} from "@modelcontextprotocol/client";
import { describe } from "../../../lib/errors.js";
import { endsWithin } from "../../../lib/promises.js";
import { sendRequest } from "../model/responses.js";
import { LONGEST_MESSAGE } from "./programTransport.js";

/** How long the request that ends the session may take. */
const TERMINATION_MS = 300;

type RequestId = string | number;

/**
 * A server on Streamable HTTP. Unlike the client's own transport, it detects a server that is gone: by a failed request, or by a stream
 * that ends before the response.
 */
export class HttpTransport implements Transport {
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  onmessage?: ((message: JSONRPCMessage) => void) | undefined;
  readonly #inner: StreamableHTTPClientTransport;
  readonly #unanswered = new Set<RequestId>();
  #lostBecause: string | undefined;
  #closed = false;

  constructor(inner: StreamableHTTPClientTransport) {
    this.#inner = inner;
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the client's transports are no event targets
    inner.onmessage = (message: JSONRPCMessage) => {
      if (isAnswer(message)) this.#unanswered.delete(message.id);
      this.onmessage?.(message);
    };
  }

  /** Why no more messages can come; undefined while they can. */
  get lostBecause(): string | undefined {
    return this.#lostBecause;
  }

  /** HTTP carries only messages, no stderr. */
  readonly lastLine = undefined;

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  setProtocolVersion(version: string): void {
    this.#inner.setProtocolVersion(version);
  }

  start(): Promise<void> {
    return this.#inner.start();
  }

  async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    const request = isRequest(message) ? message.id : undefined;
    if (request !== undefined) this.#unanswered.add(request);
    const withdrawn = withdrawnBy(message);
    if (withdrawn !== undefined) this.#unanswered.delete(withdrawn);
    try {
      await this.#inner.send(message, { ...options, onRequestStreamEnd: () => this.#noteStreamEnd(request) });
    } catch (error) {
      if (request !== undefined) this.#unanswered.delete(request);
      this.#lostBecause ??= describe(error);
      throw error;
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#lostBecause ??= "it was closed";
    const terminated = this.#inner.terminateSession().catch(ignore);
    await endsWithin(TERMINATION_MS, terminated);
    await this.#inner.close();
    this.onclose?.();
  }

  #noteStreamEnd(request: RequestId | undefined): void {
    if (request === undefined || this.#closed || !this.#unanswered.has(request)) return;
    this.#lostBecause ??= "its answer broke off";
    this.onclose?.();
  }
}

/** A server may be gone, or refuse to end its session; sessions expire anyway. */
const ignore = () => {};

function isAnswer(message: JSONRPCMessage): message is Extract<JSONRPCMessage, { id: RequestId }> & { method?: never } {
  return "id" in message && message.id !== undefined && !("method" in message);
}

function isRequest(message: JSONRPCMessage): message is Extract<JSONRPCMessage, { id: RequestId; method: string }> {
  return "id" in message && "method" in message;
}

/** The id of the request that this message cancels. */
function withdrawnBy(message: JSONRPCMessage): RequestId | undefined {
  if (!("method" in message) || message.method !== "notifications/cancelled") return undefined;
  const id = message.params?.["requestId"];
  return typeof id === "string" || typeof id === "number" ? id : undefined;
}

const WITHOUT_BODY = new Set([204, 205, 304]);

/**
 * `fetch` for the official client over this process's own connections: proxies are used, streams have no idle timeout, and single messages
 * are limited in size. Redirects are left to the client, which follows them within the origin.
 */
export function fetchMessages(env: NodeJS.ProcessEnv): FetchLike {
  return async (url, init = {}) => {
    const body = typeof init.body === "string" ? init.body : "";
    const answer = await sendRequest(new URL(url), {
      method: methodOf(init.method),
      headers: Object.fromEntries(new Headers(init.headers)),
      body,
      env,
      // A tool call must not be repeated because a connection was closed.
      fresh: body.includes('"method":"tools/call"'),
      signal: init.signal ?? new AbortController().signal,
    });
    const status = answer.statusCode ?? 502;
    return new Response(WITHOUT_BODY.has(status) ? drained(answer) : limited(answer), {
      status,
      statusText: answer.statusMessage ?? "",
      headers: headersOf(answer),
    });
  };
}

function methodOf(method: string | undefined): "GET" | "POST" | "DELETE" {
  return method === "POST" || method === "DELETE" ? method : "GET";
}

function headersOf({ rawHeaders }: IncomingMessage): [string, string][] {
  return rawHeaders.flatMap((text, at): [string, string][] => (at % 2 === 0 ? [[text, rawHeaders[at + 1] ?? ""]] : []));
}

function drained(answer: IncomingMessage): null {
  answer.resume();
  return null;
}

function limited(answer: IncomingMessage): ReadableStream<Uint8Array> {
  const byLines = answer.headers["content-type"]?.startsWith("text/event-stream") === true;
  let held = 0;
  const limiter = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const lineEnd = byLines ? chunk.lastIndexOf("\n") : -1;
      held = lineEnd < 0 ? held + chunk.length : chunk.length - lineEnd - 1;
      if (held > LONGEST_MESSAGE) done(new Error(`it sent a message of more than ${LONGEST_MESSAGE} bytes`));
      else done(null, chunk);
    },
  });
  pipeline(answer, limiter, REACHES_THE_READER);
  return Readable.toWeb(limiter);
}

const REACHES_THE_READER = () => {};
