import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const PATIENCE_MS = 30_000;
const REVISION = "2025-11-25";
const HELLO = { protocolVersion: REVISION, capabilities: {}, clientInfo: { name: "soak", version: "1.0.0" } };

/** The connections of one client of the soak. Those that it leaves open are closed at the end of its visit, like the sockets of a dead process. */
export class Visit implements Disposable {
  readonly url: URL;
  readonly #sockets = new Set<{ destroy(): void }>();

  constructor(
    url: string,
    readonly random: () => number,
  ) {
    this.url = new URL(url);
  }

  /** A session of its own. */
  async openSession(): Promise<string> {
    const { headers } = await this.post({ jsonrpc: "2.0", id: "hello", method: "initialize", params: HELLO });
    const id = headers["mcp-session-id"];
    if (typeof id !== "string") throw new Error("initialize returned no session id");
    return id;
  }

  /** Begins a request; its answer may be read, or not. */
  begin(method: string, { session, body }: { readonly session?: string | undefined; readonly body?: string }): ClientRequest {
    const sent = request(this.url, {
      method,
      agent: false,
      headers: {
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        ...(session === undefined ? {} : { "mcp-session-id": session, "mcp-protocol-version": REVISION }),
      },
    });
    this.#own(sent);
    // Clients of this kind break their own connections; a client that needs the response notices that it is missing.
    sent.on("error", () => {});
    sent.end(body);
    return sent;
  }

  async answerOf(sent: ClientRequest): Promise<IncomingMessage> {
    const [response]: IncomingMessage[] = await once(sent, "response", { signal: AbortSignal.timeout(PATIENCE_MS) });
    if (!response) throw new Error("no response");
    response.on("error", () => {});
    return response;
  }

  /** Sends one message and reads its whole response. */
  async post(message: unknown, session?: string): Promise<{ status: number; headers: IncomingMessage["headers"]; text: string }> {
    const response = await this.answerOf(this.begin("POST", { session, body: JSON.stringify(message) }));
    return { status: response.statusCode ?? 0, headers: response.headers, text: await textOf(response) };
  }

  call(prompt: string, session: string): ClientRequest {
    const params = { name: "codex", arguments: { prompt, sandbox: "read-only", "approval-policy": "never" } };
    return this.begin("POST", { session, body: JSON.stringify({ jsonrpc: "2.0", id: "call", method: "tools/call", params }) });
  }

  async end(session: string): Promise<void> {
    (await this.answerOf(this.begin("DELETE", { session }))).resume();
  }

  /** A bare connection, for bytes that no HTTP library would send. */
  async connect(): Promise<Socket> {
    const socket = connect(Number(this.url.port), this.url.hostname);
    this.#own(socket);
    socket.on("error", () => {});
    await once(socket, "connect", { signal: AbortSignal.timeout(PATIENCE_MS) });
    return socket;
  }

  /** A pause of at most this length. */
  async linger(ms: number): Promise<void> {
    await sleep(this.random() * ms);
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #own(socket: { destroy(): void; once(event: "close", gone: () => void): unknown }): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
  }
}

export async function textOf(response: IncomingMessage): Promise<string> {
  const overdue = setTimeout(() => response.destroy(new Error("the answer did not end in time")), PATIENCE_MS);
  try {
    let text = "";
    for await (const chunk of response.setEncoding("utf8")) text += String(chunk);
    return text;
  } finally {
    clearTimeout(overdue);
  }
}
