import { HttpConnection } from "./httpConnection.js";

export interface Load {
  readonly connections: number;
  readonly forMs: number;
}

/** What is asked, and where. */
export interface Asker {
  readonly url: URL;
  request(method: string): string;
}

/** Asks the same again and again on every connection, each waiting for its answer. Resolves with how long each answer took, in ms. */
export async function ask(client: Asker, method: string, { connections, forMs }: Load): Promise<number[]> {
  const until = performance.now() + forMs;
  const times: number[] = [];
  await Promise.all(Array.from({ length: connections }, () => askOnOne(client, method, { until, times })));
  return times;
}

async function askOnOne(client: Asker, method: string, { until, times }: { until: number; times: number[] }): Promise<void> {
  const connection = await HttpConnection.open(client.url);
  try {
    for (let began = performance.now(); began < until; began = performance.now()) {
      const { status, body } = await connection.send(client.request(method));
      if (status !== 200 || !body.includes('"result"')) throw new Error(`${method} was answered with ${status}: ${body.slice(0, 200)}`);
      times.push(performance.now() - began);
    }
  } finally {
    connection.close();
  }
}
