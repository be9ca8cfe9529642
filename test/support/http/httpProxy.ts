import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** A TCP proxy to a server whose connections can be cut without notice to either side. */
export interface BreakableWay extends AsyncDisposable {
  readonly origin: string;
  /** Resets every open connection; new ones pass. */
  cut(): void;
}

export async function breakableWayTo(port: number): Promise<BreakableWay> {
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(port, "127.0.0.1");
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(from);
      // If one side breaks, the other is closed.
      from.on("error", () => to.destroy());
      from.once("close", () => {
        open.delete(from);
        to.destroy();
      });
    }
    client.pipe(upstream).pipe(client);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const cut = () => {
    for (const socket of open) socket.resetAndDestroy();
  };
  return {
    origin: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`,
    cut,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      cut();
      await closed;
    },
  };
}
