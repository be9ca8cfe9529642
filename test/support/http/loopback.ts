import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** An HTTP server on a free port of this machine whose behaviour a test defines, and which counts its connections. */
export interface Loopback extends AsyncDisposable {
  readonly origin: string;
  readonly server: Server;
  /** How many were ever opened. */
  readonly connections: number;
  /** Resolves when no client is connected any more. */
  allLeft(): Promise<void>;
}

export type Answering = (request: IncomingMessage, response: ServerResponse, index: number) => void | Promise<void>;

export async function startLoopback(answer: Answering): Promise<Loopback> {
  const open = new Set<Socket>();
  let connections = 0;
  let asked = 0;
  const server = createServer((request, response) => {
    // If the test's handler fails, the connection breaks.
    Promise.resolve(answer(request, response, asked++)).catch(() => response.destroy());
  });
  server.on("connection", (socket) => {
    connections++;
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    origin: `http://127.0.0.1:${portOf(server)}`,
    server,
    get connections() {
      return connections;
    },
    allLeft: async () => {
      await Promise.all([...open].map((socket) => new Promise<void>((resolve) => socket.once("close", () => resolve()))));
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

/** For handlers that need the whole request first. */
export async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

function portOf(server: Server): number {
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the server has no port");
  return address.port;
}
