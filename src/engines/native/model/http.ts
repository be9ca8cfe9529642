import type http from "node:http";
import { errorCode } from "../../../lib/errors.js";
import { type Route, routeTo } from "./route.js";

export interface HttpOptions {
  readonly method: "GET" | "POST" | "DELETE";
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** On a connection of its own, so that the server sees the request at most once. */
  readonly fresh?: boolean;
  readonly signal: AbortSignal;
}

/** Sends one request, through the proxy that the environment names for this address, and resolves when the answer's headers are here. Rejects with the signal's reason when it aborts. */
export async function sendRequest(url: URL, options: HttpOptions): Promise<http.IncomingMessage> {
  const route = await routeTo(url, { fresh: options.fresh === true });
  const body = Buffer.from(options.body ?? "");
  for (;;) {
    try {
      return await send(url, route, body, options);
    } catch (error) {
      // A kept connection that the server closed a moment ago says nothing about the server. Each such try uses one up, so that the
      // last is made on a new connection.
      if (!(error instanceof StaleConnection)) throw error;
    }
  }
}

class StaleConnection extends Error {}

async function send(
  url: URL,
  { start, agent }: Route,
  body: Buffer,
  { method, headers, signal }: HttpOptions,
): Promise<http.IncomingMessage> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    const request = start(url, { method, agent, headers: { ...headers, "content-length": String(body.length) } }, resolve);
    // Node's own `signal` option destroys the socket with an error, which nobody hears (and which ends the process) when the answer
    // is complete at that moment; and it is not heeded while a proxy opens its tunnel.
    const leave = () => {
      reject(signal.reason);
      request.destroy();
    };
    signal.addEventListener("abort", leave, { once: true });
    request.once("close", () => signal.removeEventListener("abort", leave));
    request.on("error", (error) => {
      if (request.reusedSocket && ["ECONNRESET", "EPIPE"].includes(errorCode(error) ?? ""))
        reject(new StaleConnection("stale", { cause: error }));
      else reject(error);
    });
    request.end(body);
  });
}
