import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";

const CHANNEL = "net.client.socket";

/** The TCP connections that this very process has opened to others, so that it knows one to itself when it comes in. Those of TLS do not show. */
export class OwnConnections {
  readonly #open = new Set<string>();
  readonly #follow = (message: unknown) => {
    // The channel's own contract.
    const { socket } = message as { socket: Socket };
    socket.once("connect", () => {
      const end = written(socket.localAddress, socket.localPort);
      this.#open.add(end);
      socket.once("close", () => this.#open.delete(end));
    });
  };

  constructor() {
    subscribe(CHANNEL, this.#follow);
  }

  /** Whether one of them comes from there. */
  has(address: string, port: number): boolean {
    return this.#open.size > 0 && this.#open.has(written(address, port));
  }

  close(): void {
    unsubscribe(CHANNEL, this.#follow);
  }
}

function written(address = "", port = 0): string {
  return `${address.replace(/^::ffff:/i, "")} ${port}`;
}
