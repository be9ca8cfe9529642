import { type Deferred, deferred } from "../src/lib/promises.js";
import type { ServerProcess } from "./processes.js";

export type JsonRecord = Readonly<Record<string, unknown>>;

/** A JSON-RPC client on a server's pipes, as cheap as possible, because its time is part of every measurement. */
export class LineRpc {
  readonly #pending = new Map<number, Deferred<unknown>>();
  /** Settles when the server has ended and all pending requests are rejected. */
  readonly closed: Promise<void>;
  #lastId = 0;

  constructor(
    private readonly server: ServerProcess,
    private readonly onNotification: (method: string, params: JsonRecord) => void,
  ) {
    readLines(server.child.stdout, (line) => this.#take(parsed(line)));
    this.closed = server.ended.then((how) => {
      for (const waiting of this.#pending.values()) waiting.reject(new Error(`the server ${how}`));
    });
  }

  async request(method: string, params: object, { deadlineMs }: { readonly deadlineMs: number }): Promise<unknown> {
    const id = ++this.#lastId;
    const answer = deferred<unknown>();
    this.#pending.set(id, answer);
    const timer = setTimeout(() => answer.reject(new Error(`${method}: no answer in ${deadlineMs} ms`)), deadlineMs);
    this.#write({ jsonrpc: "2.0", id, method, params });
    return answer.promise.finally(() => {
      clearTimeout(timer);
      this.#pending.delete(id);
    });
  }

  notify(method: string): void {
    this.#write({ jsonrpc: "2.0", method });
  }

  #take(message: unknown): void {
    if (!isRecord(message)) return;
    if (typeof message.method === "string") this.#takeCall(message.method, message);
    else if (typeof message.id === "number") this.#settle(message.id, message);
  }

  #takeCall(method: string, { id, params }: JsonRecord): void {
    if (id === undefined) this.onNotification(method, isRecord(params) ? params : {});
    else this.#write({ jsonrpc: "2.0", id, error: { code: -32601, message: "the benchmark answers no questions" } });
  }

  #settle(id: number, { result, error }: JsonRecord): void {
    const waiting = this.#pending.get(id);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new Error(JSON.stringify(error).slice(0, 300)));
  }

  #write(message: object): void {
    this.server.child.stdin.write(`${JSON.stringify(message)}\n`);
  }
}

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null;
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

function readLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void): void {
  let begun = "";
  stream.setEncoding("utf8");
  stream.on("data", (chunk: string) => {
    let from = 0;
    for (let at = chunk.indexOf("\n"); at >= 0; at = chunk.indexOf("\n", from)) {
      const line = begun + chunk.slice(from, at);
      begun = "";
      from = at + 1;
      if (line !== "") onLine(line);
    }
    begun += chunk.slice(from);
  });
}
