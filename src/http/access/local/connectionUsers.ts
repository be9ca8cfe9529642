import type { Socket } from "node:net";
import { isLoopbackAddress } from "../host/hostName.js";
import { TcpTable } from "./tcpTable.js";

/** The uid of the user who opened a connection. `unknown`: the client is on another machine, or this machine does not report it. */
export type ConnectionUser = number | "unknown";

/**
 * Finds the user of this machine who opened a connection, once per connection. Browsers send a cookie to every server of the same host
 * name, whichever user runs that server, so a cookie alone does not identify the user of a browser.
 */
export class ConnectionUsers {
  readonly #table: Pick<TcpTable, "findWithinMachine">;
  readonly #known = new WeakMap<Socket, ConnectionUser | Promise<ConnectionUser>>();

  constructor(table: Pick<TcpTable, "findWithinMachine"> = new TcpTable()) {
    this.#table = table;
  }

  /** Synchronous for all requests of a connection but the first. Never rejects. */
  of(socket: Socket): ConnectionUser | Promise<ConnectionUser> {
    const known = this.#known.get(socket);
    if (known !== undefined) return known;
    const finding = this.#find(socket).then((user) => {
      this.#known.set(socket, user);
      return user;
    });
    this.#known.set(socket, finding);
    return finding;
  }

  async #find(socket: Socket): Promise<ConnectionUser> {
    const { remoteAddress, remotePort, localAddress, localPort } = socket;
    if (remoteAddress === undefined || remotePort === undefined || localAddress === undefined || localPort === undefined) return "unknown";
    if (process.platform !== "linux" || !isLoopbackAddress(remoteAddress)) return "unknown";
    const found = await this.#table.findWithinMachine({
      client: { address: remoteAddress, port: remotePort },
      server: { address: localAddress, port: localPort },
    });
    // The result may belong to a later connection with the same ports.
    return found.kind === "open" && !socket.destroyed ? found.uid : "unknown";
  }
}
