import { HttpConnection } from "./httpConnection.js";

export interface Load {
  readonly connections: number;
  readonly forMs: number;
}

/** The request to repeat, and its server. */
export interface Asker {
  readonly url: URL;
  /** A text that every response must contain; by default that of a JSON-RPC result. */
  readonly expect?: string;
  request(method: string): string;
}

/** Repeats the request on every connection, one at a time on each. Resolves with the time of each response, in ms. */
export async function ask(client: Asker, method: string, { connections, forMs }: Load): Promise<number[]> {
  const until = performance.now() + forMs;
  const times: number[] = [];
  const isOver = () => performance.now() >= until;
  await Promise.all(Array.from({ length: connections }, async () => times.push(...(await askOnOne(client, method, isOver)))));
  return times;
}

/** Sends requests one after the other on one keep-alive connection until `isOver`. Returns the time of each. */
export async function askOnOne(client: Asker, method: string, isOver: () => boolean): Promise<number[]> {
  const times: number[] = [];
  const connection = await HttpConnection.open(client.url);
  try {
    while (!isOver()) {
      const began = performance.now();
      const { status, body } = await connection.send(client.request(method));
      if (status !== 200 || !body.includes(client.expect ?? '"result"'))
        throw new Error(`${method} returned ${status}: ${body.slice(0, 200)}`);
      times.push(performance.now() - began);
    }
    return times;
  } finally {
    connection.close();
  }
}
