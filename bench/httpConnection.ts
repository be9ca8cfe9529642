import { once } from "node:events";
import { connect, type Socket } from "node:net";

const REPLY_DEADLINE_MS = 30_000;
const HEAD_END = Buffer.from("\r\n\r\n");

export interface HttpReply {
  readonly status: number;
  readonly head: string;
  readonly body: string;
}

/** One keep-alive connection that does as little as possible per request, because the client's CPU time is taken from the server. */
export class HttpConnection {
  #received: Buffer = Buffer.alloc(0);
  #waiting: { resolve(reply: HttpReply): void; reject(error: Error): void } | undefined;

  private constructor(private readonly socket: Socket) {
    socket.setNoDelay(true);
    socket.setTimeout(REPLY_DEADLINE_MS, () => socket.destroy(new Error("the server did not answer in time")));
    socket.on("data", (chunk) => this.#take(chunk));
    socket.on("error", (error) => this.#waiting?.reject(error));
    socket.on("close", () => this.#waiting?.reject(new Error("the server closed the connection")));
  }

  static async open(url: URL): Promise<HttpConnection> {
    const socket = connect(Number(url.port), url.hostname);
    await once(socket, "connect");
    return new HttpConnection(socket);
  }

  /** Sends one request at a time; the response must have a content length. */
  send(request: string): Promise<HttpReply> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.socket.write(request);
    });
  }

  close(): void {
    this.#waiting = undefined;
    this.socket.destroy();
  }

  #take(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    const headEnd = this.#received.indexOf(HEAD_END);
    if (headEnd < 0) return;
    const head = this.#received.toString("latin1", 0, headEnd);
    const bodyStart = headEnd + HEAD_END.length;
    const bodyEnd = bodyStart + Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (this.#received.length < bodyEnd) return;
    const body = this.#received.toString("latin1", bodyStart, bodyEnd);
    this.#received = Buffer.alloc(0);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve({ status: Number(head.slice(9, 12)), head, body });
  }
}
