import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** A raw connection: the test controls every byte that is sent, and when data is read. */
export class RawSocket implements Disposable {
  #heard = "";
  readonly #closed: Promise<boolean>;

  private constructor(private readonly socket: Socket) {
    socket.on("data", (chunk: Buffer) => {
      this.#heard += chunk.toString("latin1");
    });
    // The close event reports an error.
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

  /** Ends the client's side; it still reads. */
  finishSaying(): void {
    this.socket.end();
  }

  /** Everything that the server sent until it closed. If the client was still sending, the response may be lost. */
  async untilClosed(): Promise<string> {
    await this.#closed;
    return this.#heard;
  }

  /** Resolves when the server has said this. */
  async heard(text: string): Promise<void> {
    while (!this.#heard.includes(text)) await once(this.socket, "data");
  }

  /** From now on nothing is read: what the server sends piles up on its side. */
  stopReading(): void {
    this.socket.pause();
  }

  goOnReading(): void {
    this.socket.resume();
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}

/** The head of a POST to the endpoint. */
export function postHead(port: number, ...headers: readonly string[]): string {
  return [`POST /mcp HTTP/1.1`, `Host: 127.0.0.1:${port}`, "Content-Type: application/json", ...headers, "", ""].join("\r\n");
}
