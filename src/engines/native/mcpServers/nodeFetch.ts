import type { IncomingMessage } from "node:http";
import { pipeline, Readable, Transform } from "node:stream";
import type { FetchLike } from "@modelcontextprotocol/client";
import { sendRequest } from "../model/http.js";
import { LONGEST_MESSAGE } from "./limits.js";

const WITHOUT_BODY = new Set([204, 205, 304]);

/**
 * `fetch` for the official client over this process's own connections: proxies are honoured, a stream may be silent for as long as it
 * likes, and no single message grows without bound. Redirects are left to the client, which follows them within the origin.
 */
export const fetchMessages: FetchLike = async (url, init = {}) => {
  const body = typeof init.body === "string" ? init.body : "";
  const answer = await sendRequest(new URL(url), {
    method: methodOf(init.method),
    headers: Object.fromEntries(new Headers(init.headers)),
    body,
    // What a tool does must not be done twice because a connection was closed.
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
