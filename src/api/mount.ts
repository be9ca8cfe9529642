import type { IncomingMessage, ServerResponse } from "node:http";
import type { Caller } from "../agent/caller.js";
import { sendJson } from "../http/answers.js";
import { HttpProblem } from "../http/problem.js";
import type { HttpRequest } from "../http/request.js";
import { type Lazy, lazily } from "../lib/promises.js";
import { type Api, createApi } from "./app.js";
import type { ApiParts, ApiRequest } from "./base/apiParts.js";
import { problem } from "./base/problems.js";
import { TurnBook } from "./timeline/turnBook.js";

const PROBLEM = { "content-type": "application/problem+json" };

/** Mounts the API behind the server's own access control and router. */
export class ApiMount {
  readonly #parts: ApiParts;
  readonly #book = new TurnBook();
  readonly #api: Lazy<Api>;

  constructor(parts: ApiParts) {
    this.#parts = parts;
    this.#api = lazily(async () => this.#open());
  }

  close(): void {
    this.#book.close();
  }

  async #open(): Promise<Api> {
    const agent = await this.#parts.agent();
    this.#book.follow(agent).catch((error: unknown) => this.#parts.failed("the API's record of turns", error));
    return createApi({ ...this.#parts, book: this.#book });
  }

  async serve({ incoming, response, caller, headers }: HttpRequest<Caller>): Promise<void> {
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    try {
      // A stranger who logs in sends a short code, and must not keep the server busy with more.
      const limit = caller.scopes.length === 0 ? { maxBytes: STRANGERS_BYTES } : {};
      const body = () => this.#parts.bodies.read(incoming, caller.principal, limit);
      const [api, web] = [await this.#api.get(), await webRequest(incoming, body)];
      const asked: ApiRequest = {
        incoming,
        response,
        caller,
        headers,
        signal: gone.signal,
        watchTurn: this.#parts.watchTurn,
        viaConsole: caller.inBrowser === true,
        taken: false,
      };
      const answer = await api.fetch(web, asked);
      if (!asked.taken) await send(answer, response, headers);
    } catch (error) {
      if (!(error instanceof HttpProblem)) throw error;
      const told = problem(error.status, CODES[error.status] ?? "invalid_request", error.message);
      sendJson(response, JSON.stringify(told), { status: error.status, headers: { ...headers, ...error.headers, ...PROBLEM } });
    }
  }
}

const STRANGERS_BYTES = 4 * 1024;
const CODES: Readonly<Record<number, string>> = { 413: "body_too_long", 415: "not_json", 429: "too_many_requests" };
const WITHOUT_BODY: ReadonlySet<string> = new Set(["GET", "HEAD"]);

/** Converts the request for the API's router; the body is read within limits. */
async function webRequest(incoming: IncomingMessage, read: () => Promise<string>): Promise<Request> {
  const { method = "GET", url = "/" } = incoming;
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers)) {
    if (name.startsWith(":") || value === undefined) continue;
    headers.set(name, Array.isArray(value) ? value.join(", ") : value);
  }
  const hasBody = !WITHOUT_BODY.has(method) && (incoming.headers["content-length"] ?? "0") !== "0";
  const isChunked = incoming.headers["transfer-encoding"] !== undefined && !WITHOUT_BODY.has(method);
  const body = hasBody || isChunked ? await read() : undefined;
  // Host and Origin were already checked; this host name has no meaning.
  return new Request(new URL(url, "http://localhost"), { method, headers, ...(body !== undefined && { body }) });
}

async function send(answer: Response, response: ServerResponse, also: Readonly<Record<string, string>>): Promise<void> {
  const body = Buffer.from(await answer.arrayBuffer());
  const headers: Record<string, string> = { ...also };
  for (const [name, value] of answer.headers) headers[name] = value;
  // Personal data must not be cached.
  headers["cache-control"] ??= "no-store";
  // Text of callers, such as the names of models in the metrics, must not be taken for a page or a script.
  headers["x-content-type-options"] ??= "nosniff";
  if (answer.status !== 204) headers["content-length"] = String(body.length);
  response.writeHead(answer.status, headers).end(body);
}
