import { HttpConnection } from "./httpConnection.js";

export const REVISION = "2025-11-25";
const ACCEPT = "application/json, text/event-stream";

/** A minimal client of MCP over HTTP, for load tests. */
export class HttpClient {
  readonly #headers: string;
  #lastId = 0;

  private constructor(
    readonly url: URL,
    readonly sessionId: string | undefined,
  ) {
    this.#headers = [
      `POST ${url.pathname} HTTP/1.1`,
      `host: ${url.host}`,
      "content-type: application/json",
      `accept: ${ACCEPT}`,
      `mcp-protocol-version: ${REVISION}`,
      ...(sessionId === undefined ? [] : [`mcp-session-id: ${sessionId}`]),
    ].join("\r\n");
  }

  /** Does the handshake once. */
  static async open(address: string): Promise<HttpClient> {
    const url = new URL(address);
    const connection = await HttpConnection.open(url);
    try {
      const params = { protocolVersion: REVISION, capabilities: {}, clientInfo: { name: "bench", version: "1.0.0" } };
      const { head } = await connection.send(new HttpClient(url, undefined).request("initialize", params));
      const client = new HttpClient(url, /mcp-session-id: (\S+)/i.exec(head)?.[1]);
      await connection.send(client.#text({ jsonrpc: "2.0", method: "notifications/initialized" }));
      return client;
    } finally {
      connection.close();
    }
  }

  /** The bytes of one request. */
  request(method: string, params?: unknown): string {
    return this.#text({ jsonrpc: "2.0", id: ++this.#lastId, method, params });
  }

  get streamHeaders(): Readonly<Record<string, string>> {
    return {
      accept: ACCEPT,
      "content-type": "application/json",
      "mcp-protocol-version": REVISION,
      ...(this.sessionId === undefined ? {} : { "mcp-session-id": this.sessionId }),
    };
  }

  #text(message: unknown): string {
    const body = JSON.stringify(message);
    return `${this.#headers}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
  }
}
