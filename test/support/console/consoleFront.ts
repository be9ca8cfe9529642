import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { fileURLToPath } from "node:url";

const BUILT = fileURLToPath(new URL("../../../dist/console", import.meta.url));
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/**
 * A reverse proxy in front of a server, with everything below a path, as operators use it. Serves the built console itself, with the
 * strictest policy that it must work with.
 */
export class ConsoleFront implements AsyncDisposable {
  readonly #server: Server;
  readonly #streams = new Set<() => void>();

  private constructor(
    private readonly prefix: string,
    /** Where requests go; may be changed to another server. */
    public target: string,
  ) {
    this.#server = createServer((incoming, response) => {
      this.#serve(incoming, response).catch(() => response.destroy());
    });
  }

  static async open(target: string, prefix = "/team/agent"): Promise<ConsoleFront> {
    const front = new ConsoleFront(prefix, target);
    await new Promise<void>((resolve) => front.#server.listen(0, "127.0.0.1", resolve));
    return front;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}${this.prefix}/console/`;
  }

  /** Breaks every connection of a browser; new ones are accepted. */
  cut(): void {
    this.#server.closeAllConnections();
  }

  /** Keeps open event streams open without sending anything more, as after a sleep of the machine. */
  mute(): void {
    for (const mute of this.#streams) mute();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url = "" } = incoming;
    if (!url.startsWith(`${this.prefix}/`)) return void response.writeHead(404).end();
    const below = url.slice(this.prefix.length);
    if (below.startsWith("/console/")) await sendFile(below, response);
    else this.#pass(incoming, response, below);
  }

  #pass(incoming: IncomingMessage, response: ServerResponse, below: string): void {
    const { host, origin } = { host: new URL(this.target).host, origin: this.target };
    const headers = { ...incoming.headers, host, ...(incoming.headers.origin !== undefined && { origin }) };
    const asked = request(`${this.target}${below}`, { method: incoming.method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
      answer.on("error", () => response.destroy());
      if (!answer.headers["content-type"]?.startsWith("text/event-stream")) return;
      const mute = () => void answer.unpipe(response).resume();
      this.#streams.add(mute);
      response.on("close", () => this.#streams.delete(mute));
    });
    asked.on("error", () => (response.headersSent ? response.destroy() : response.writeHead(502).end()));
    response.on("close", () => asked.destroy());
    incoming.pipe(asked);
  }
}

async function sendFile(below: string, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(below, "http://localhost");
  const name = pathname === "/console/" ? "index.html" : pathname.slice("/console/".length);
  const body = await readFile(path.join(BUILT, name)).catch(() => undefined);
  if (!body) return void response.writeHead(404).end();
  response.writeHead(200, { "content-type": TYPES[path.extname(name)] ?? "text/plain", "content-security-policy": POLICY }).end(body);
}
