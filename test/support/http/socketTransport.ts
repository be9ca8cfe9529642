import { once } from "node:events";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { WebSocket } from "ws";

/** MCP over a WebSocket, for clients of the official packages, which have no such transport. */
export class SocketTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #socket: WebSocket;

  constructor(origin: string) {
    this.#socket = new WebSocket(`${origin.replace(/^http/, "ws")}/mcp`, ["mcp"]);
  }

  async start(): Promise<void> {
    await once(this.#socket, "open");
    this.#socket.on("message", (frame: Buffer) => this.onmessage?.(JSON.parse(frame.toString("utf8")) as JSONRPCMessage));
    this.#socket.on("error", (error) => this.onerror?.(error));
    this.#socket.once("close", () => this.onclose?.());
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#socket.send(JSON.stringify(message));
  }

  async close(): Promise<void> {
    if (this.#socket.readyState === WebSocket.CLOSED) return;
    const closed = once(this.#socket, "close");
    this.#socket.close();
    await closed;
  }
}
