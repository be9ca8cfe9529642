import { once } from "node:events";
import { Agent, type ClientRequest, type IncomingMessage, request } from "node:http";
import type { HttpClient } from "./httpClient.js";

/** Each long call has a connection of its own; none is reused. */
const ownConnections = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });
const CALL_DEADLINE_MS = 5 * 60_000;

/** The session's GET stream, as clients keep it open for messages of the server. Ends with `destroy`. */
export async function openStream(client: HttpClient): Promise<ClientRequest> {
  const stream = request(client.url, { method: "GET", agent: ownConnections, headers: client.streamHeaders });
  stream.end();
  const [response]: IncomingMessage[] = await once(stream, "response");
  if (response?.statusCode !== 200) throw new Error(`GET returned ${response?.statusCode}`);
  // It ends with its request, which its owner watches.
  response.on("error", () => {});
  stream.on("error", () => {});
  response.resume();
  return stream;
}

/** A turn of a new thread, answered as a stream. Resolves after the answer with the number of occurrences of `marker`. */
export async function countInTurn(client: HttpClient, { prompt, marker }: { readonly prompt: string; readonly marker: string }) {
  const call = request(client.url, {
    method: "POST",
    agent: ownConnections,
    headers: client.streamHeaders,
    signal: AbortSignal.timeout(CALL_DEADLINE_MS),
  });
  call.end(
    JSON.stringify({
      jsonrpc: "2.0",
      id: "turn",
      method: "tools/call",
      params: { name: "codex", arguments: { prompt, sandbox: "read-only" } },
    }),
  );
  const [response]: IncomingMessage[] = await once(call, "response");
  if (response?.statusCode !== 200) throw new Error(`the call returned ${response?.statusCode}`);
  const counter = new MarkerCounter([marker, '"id":"turn","jsonrpc"']);
  for await (const chunk of response) counter.take(chunk);
  const [count = 0, answers = 0] = counter.counts;
  if (answers !== 1) throw new Error(`the call got ${answers} answers`);
  return count;
}

/** Counts occurrences of a text in a stream of chunks, without parsing it. */
class MarkerCounter {
  readonly counts: number[];
  readonly #markers: readonly Buffer[];
  readonly #overlap: number;
  #tail: Buffer = Buffer.alloc(0);

  constructor(markers: readonly string[]) {
    this.#markers = markers.map((marker) => Buffer.from(marker));
    this.counts = markers.map(() => 0);
    this.#overlap = Math.max(...this.#markers.map(({ length }) => length)) - 1;
  }

  take(chunk: Buffer): void {
    const text = Buffer.concat([this.#tail, chunk]);
    for (const [at, marker] of this.#markers.entries()) {
      // An occurrence wholly in the tail was counted with the previous chunk.
      const from = Math.max(0, this.#tail.length - marker.length + 1);
      for (let found = text.indexOf(marker, from); found >= 0; found = text.indexOf(marker, found + marker.length))
        this.counts[at] = (this.counts[at] ?? 0) + 1;
    }
    this.#tail = text.subarray(-this.#overlap);
  }
}
