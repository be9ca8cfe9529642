import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { WebSocket } from "ws";
import { isRecord, valueAt } from "../scenarios/scenario.js";
import { stepsIn } from "./httpClient.js";
import { bodyOf } from "./loopback.js";

type Json = Readonly<Record<string, unknown>>;

const PATIENCE_MS = 45_000;

export interface SocketQuestion {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly protocols?: readonly string[];
}

/** A WebSocket client that records every frame. Fails with the response if the upgrade is refused. */
export async function openSocket(origin: string, question: SocketQuestion = {}): Promise<SocketClient> {
  const { path = "/mcp", headers = {}, protocols = ["mcp"] } = question;
  const socket = new WebSocket(`${origin.replace(/^http/, "ws")}${path}`, [...protocols], { headers });
  const client = new SocketClient(socket);
  const refused = new Promise<never>((_, reject) => {
    socket.once("unexpected-response", (_request, response) => {
      bodyOf(response).then((body) => reject(new UpgradeRefused(response.statusCode ?? 0, body)), reject);
    });
  });
  const session = once(socket, "upgrade").then(([response]: IncomingMessage[]) => response?.headers["mcp-session-id"]);
  await Promise.race([once(socket, "open"), refused]);
  client.session = String(await session);
  return client;
}

export class UpgradeRefused extends Error {
  constructor(
    readonly status: number,
    readonly body: string,
  ) {
    super(`refused with ${status}: ${body}`);
  }
}

export class SocketClient implements Disposable {
  readonly messages: Json[] = [];
  session = "";
  /** Pings of the server. */
  pings = 0;
  #closed: { readonly code: number; readonly reason: string } | undefined;
  readonly #watchers = new Set<() => void>();

  constructor(readonly socket: WebSocket) {
    socket.on("message", (frame: Buffer) => this.#note(() => this.messages.push(JSON.parse(frame.toString()) as Json)));
    socket.on("ping", () => this.#note(() => this.pings++));
    // The close event reports the error.
    socket.on("error", () => {});
    socket.once("close", (code, reason) => this.#note(() => (this.#closed = { code, reason: String(reason) })));
  }

  send(message: unknown): void {
    this.socket.send(JSON.stringify(message));
  }

  /** The number of the last message seen. */
  get lastNumber(): number {
    return Math.max(0, ...this.numbers);
  }

  /** The event id of the last message, for a reconnect. */
  get lastId(): string {
    const ids = this.messages.map((message) => {
      const id = metaOf(message)["codex-mcpd/eventId"];
      return typeof id === "string" ? id : numberOf(message)?.toString();
    });
    return ids.findLast((id) => id !== undefined) ?? "0";
  }

  get numbers(): number[] {
    return this.messages.flatMap((message) => {
      const number = numberOf(message);
      return number === undefined ? [] : [number];
    });
  }

  get steps(): string[] {
    return stepsIn(this.messages);
  }

  message(what: string, fits: (message: Json) => boolean): Promise<Json> {
    return this.wait(what, () => this.messages.find(fits));
  }

  answerTo(id: number | string | null): Promise<Json> {
    return this.message(`answer to ${id}`, (message) => message["id"] === id && ("result" in message || "error" in message));
  }

  step(type: string): Promise<Json> {
    return this.message(`event ${type}`, (message) => stepsIn([message])[0] === type);
  }

  close(): Promise<{ readonly code: number; readonly reason: string }> {
    return this.wait("close", () => this.#closed);
  }

  [Symbol.dispose](): void {
    this.socket.terminate();
  }

  wait<T>(what: string, look: () => T | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const settle = (finish: () => void) => {
        clearTimeout(timer);
        this.#watchers.delete(check);
        finish();
      };
      const check = () => {
        const found = look();
        if (found !== undefined) settle(() => resolve(found));
        else if (this.#closed) settle(() => reject(new Error(`No ${what}; the socket closed: ${JSON.stringify(this.#closed)}`)));
      };
      const timer = setTimeout(() => settle(() => reject(new Error(`No ${what} in time`))), PATIENCE_MS);
      this.#watchers.add(check);
      check();
    });
  }

  #note(change: () => void): void {
    change();
    for (const check of this.#watchers) check();
  }
}

function numberOf(message: Json): number | undefined {
  const number = metaOf(message)["codex-mcpd/event"];
  return typeof number === "number" ? number : undefined;
}

function metaOf(message: Json): Json {
  const [meta = {}] = ["params", "result"].map((holder) => valueAt(message, `${holder}._meta`)).filter(isRecord);
  return meta;
}

const PLACE_KEYS = ["codex-mcpd/event", "codex-mcpd/eventId"];

/** The message as on other transports, without its number. */
export function unnumbered(message: Json): Json {
  return JSON.parse(JSON.stringify(message, (key, value: unknown) => (PLACE_KEYS.includes(key) ? undefined : value))) as Json;
}
