import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** A connection that says exactly what a test tells it, byte by byte, and reads only when told to. */
export class RawSocket implements Disposable {
  #heard = "";
  readonly #closed: Promise<boolean>;

  private constructor(private readonly socket: Socket) {
    socket.on("data", (chunk: Buffer) => {
      this.#heard += chunk.toString("latin1");
    });
    // That it broke is told by its close.
    socket.on("error", () => {});
    this.#closed = new Promise((resolve) => socket.once("close", resolve));
  }

  static async open(port: number): Promise<RawSocket> {
    const socket = connect({ port, host: "127.0.0.1" });
    await once(socket, "connect");
    return new RawSocket(socket);
  }

  say(text: string): void {
    this.socket.write(text);
  }

  /** The client has said all it wanted, and still listens. */
  finishSaying(): void {
    this.socket.end();
  }

  /** Everything the server said until it closed. Of an answer to a client that still talks nothing may have arrived. */
  async untilClosed(): Promise<string> {
    await this.#closed;
    return this.#heard;
  }

  /** From now on nothing is read: what the server sends piles up on its side. */
  stopReading(): void {
    this.socket.pause();
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}

/** The head of a POST to the endpoint. */
export function postHead(port: number, ...headers: readonly string[]): string {
  return [`POST /mcp HTTP/1.1`, `Host: 127.0.0.1:${port}`, "Content-Type: application/json", ...headers, "", ""].join("\r\n");
}
