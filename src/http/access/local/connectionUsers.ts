import type { Socket } from "node:net";
import { isLoopbackAddress } from "../host/hostName.js";
import { TcpTable } from "./tcpTable.js";

/** The number of the user who has made a connection. `unknown`: on another machine, or this one does not say. */
export type ConnectionUser = number | "unknown";

/**
 * Which user of this machine has made a connection, looked up once for each. A browser's cookie reaches every server of the same host name, whichever
 * user runs it, so a cookie alone does not say whose browser it is.
 */
export class ConnectionUsers {
  readonly #table: Pick<TcpTable, "findWithinMachine">;
  readonly #known = new WeakMap<Socket, ConnectionUser | Promise<ConnectionUser>>();

  constructor(table: Pick<TcpTable, "findWithinMachine"> = new TcpTable()) {
    this.#table = table;
  }

  /** At once for all requests of a connection but the first. Never rejects. */
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
    // What was found may be of a later connection with the same ports.
    return found.kind === "open" && !socket.destroyed ? found.uid : "unknown";
  }
}
