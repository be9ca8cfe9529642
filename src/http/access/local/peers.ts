import { accessSync, constants, readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { isLoopbackAddress } from "../host/hostName.js";
import { HolderSearch } from "./socketHolder.js";
import { type ClientSocket, type ClientView, TcpTable } from "./tcpTable.js";

/** Who is at the other end of a connection. */
export interface Peer {
  /** The user that this server runs as, or root. */
  readonly user: "own" | "another" | "unknown";
  /**
   * `inside`: this process, or one that it has started. `sandbox`: a command in a sandbox of ours, or what cannot be told from one.
   */
  readonly place: "outside" | "inside" | "sandbox";
}

/** What this server knows of itself and of what it has started. */
export interface OwnSide {
  /** Whether a connection of this process itself comes from there. */
  connectsFrom(address: string, port: number): boolean;
  hasProcesses(): boolean;
  /** The descendants that could connect to this server. */
  processes(): Promise<readonly { readonly pid: number; readonly confined: boolean }[]>;
}

export interface PeerOptions {
  readonly ownSide?: OwnSide | undefined;
  /** Users are asked for. Otherwise a connection is looked up only while something runs that this server has started. */
  readonly tellsUsers: boolean;
}

const STRANGER: Peer = { user: "unknown", place: "outside" };
const HIDDEN: Peer = { user: "unknown", place: "sandbox" };

/** Finds out once for each connection who has made it. */
export class Peers {
  readonly #options: PeerOptions;
  readonly #known = new WeakMap<Socket, Peer | Promise<Peer>>();
  readonly #table = new TcpTable();

  constructor(options: PeerOptions) {
    this.#options = options;
  }

  /** At once for all requests of a connection but the first. */
  of(socket: Socket): Peer | Promise<Peer> {
    const known = this.#known.get(socket);
    if (known) return known;
    const { ownSide, tellsUsers } = this.#options;
    if (!tellsUsers && !ownSide?.hasProcesses() && !this.#isOwn(socket)) return this.#keep(socket, STRANGER);
    const finding = this.#find(socket).then((peer) => this.#keep(socket, peer));
    this.#known.set(socket, finding);
    return finding;
  }

  #keep(socket: Socket, peer: Peer): Peer {
    this.#known.set(socket, peer);
    return peer;
  }

  #isOwn({ remoteAddress, remotePort }: Socket): boolean {
    if (remoteAddress === undefined || remotePort === undefined) return false;
    return this.#options.ownSide?.connectsFrom(remoteAddress, remotePort) === true;
  }

  /** Processes first: whoever still has the socket open afterwards lived while they were looked at. */
  async #find(socket: Socket): Promise<Peer> {
    const connection = clientView(socket);
    if (!connection) return STRANGER;
    if (this.#isOwn(socket)) return { user: "own", place: "inside" };
    const processes = (await this.#options.ownSide?.processes()) ?? [];
    if (!this.#options.tellsUsers && processes.length === 0) return STRANGER;
    const client = await this.#lookUp(connection);
    // What was found may be of a later connection with the same ports.
    if (socket.destroyed) return STRANGER;
    if (client.kind === "absent") return STRANGER;
    const mayBeConfined = processes.some(({ confined }) => confined);
    if (client.kind !== "open") return mayBeConfined ? HIDDEN : STRANGER;
    return { user: userOf(client.uid), place: await placeOf(client, processes) };
  }

  /** A row may slip through while the table changes. That of a connection within this machine is there. */
  async #lookUp(connection: ClientView): Promise<ClientSocket> {
    const found = await this.#table.find(connection);
    if (found.kind !== "absent" || !isLoopbackAddress(connection.client.address)) return found;
    const again = await this.#table.find(connection);
    return again.kind === "absent" ? { kind: "unknown" } : again;
  }
}

function clientView({ remoteAddress, remotePort, localAddress, localPort }: Socket): ClientView | undefined {
  if (remoteAddress === undefined || remotePort === undefined || localAddress === undefined || localPort === undefined) return undefined;
  return { client: { address: remoteAddress, port: remotePort }, server: { address: localAddress, port: localPort } };
}

/**
 * A command in a sandbox can hide its socket from whoever looks for it: between two processes, in a thread with descriptors of its own. So while
 * one runs that could connect at all, a connection of its user counts as its own until a process outside is found to have it.
 */
async function placeOf(
  { uid, inode }: Extract<ClientSocket, { kind: "open" }>,
  processes: readonly { readonly pid: number; readonly confined: boolean }[],
): Promise<Peer["place"]> {
  if (processes.length === 0) return "outside";
  const search = new HolderSearch(inode);
  const holders = [];
  for (const own of processes) if (await search.isHeldBy(own.pid)) holders.push(own);
  if (holders.length > 0) return holders.some(({ confined }) => confined) ? "sandbox" : "inside";
  // No sandbox makes sockets of another user than ours.
  if (uid !== process.geteuid?.() || !processes.some(({ confined }) => confined)) return "outside";
  return (await search.isHeldByOther(new Set(processes.map(({ pid }) => pid)))) ? "outside" : "sandbox";
}

function userOf(uid: number): Peer["user"] {
  return uid === 0 || uid === process.geteuid?.() ? "own" : "another";
}

/** Whether this machine says which user has made a connection. */
export function canTellUsers(): boolean {
  if (process.platform !== "linux") return false;
  try {
    accessSync("/proc/net/tcp", constants.R_OK);
    return !looksLikeOthers();
  } catch {
    return false;
  }
}

/** In a user namespace every user that has no number there is shown with one and the same, which may be ours. */
function looksLikeOthers(): boolean {
  const overflow = Number(readFileSync("/proc/sys/kernel/overflowuid", "utf8"));
  if (process.geteuid?.() !== overflow) return false;
  const [inside, outside, count] = readFileSync("/proc/self/uid_map", "utf8").trim().split(/\s+/).map(Number);
  return !(inside === 0 && outside === 0 && count === 0xffff_ffff);
}
