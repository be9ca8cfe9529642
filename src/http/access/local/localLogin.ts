import { accessSync, constants, readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { forbidden } from "../answers.js";
import { isLoopbackAddress } from "../host/hostName.js";
import type { LoginOutcome, ScopeWords } from "../identity.js";
import { credentialOf } from "../requestHeaders.js";
import type { KnownTokens } from "../tokens/knownTokens.js";
import type { Login, Occasion } from "../tokens/login.js";
import { HolderSearch } from "./socketHolder.js";
import { type ClientSocket, type ClientView, TcpTable } from "./tcpTable.js";

export interface LocalLoginParts {
  /** Every user of the machine counts as the server's user. */
  readonly anyUser: boolean;
  readonly tokens: KnownTokens;
  readonly login: Login;
  readonly scopes: ScopeWords;
  readonly upgradeObjection: (request: IncomingMessage) => string | undefined;
}

/**
 * Authentication where no token is set and only this machine can reach the server. The server's own user needs no token; everyone else
 * needs the server's own token.
 */
export class LocalLogin {
  readonly #parts: LocalLoginParts;
  /** All scopes except `operator`. */
  readonly #ownUser: LoginOutcome;

  constructor(parts: LocalLoginParts) {
    this.#parts = parts;
    this.#ownUser = { identity: { principal: "local", scopes: parts.scopes.ownUser } };
  }

  identify(request: IncomingMessage, peer: Peer, occasion: Occasion): LoginOutcome | Promise<LoginOutcome> {
    const { anyUser, tokens, login, upgradeObjection } = this.#parts;
    const need = anyUser ? undefined : whyToken(request, peer);
    if (need !== undefined) return login.identify(request, occasion, need);
    // A user who needs no token may still send one, which may grant more.
    const credential = credentialOf(request);
    const identity = credential.kind === "token" ? tokens.find(credential.token) : undefined;
    if (identity) return { identity };
    const objection = upgradeObjection(request);
    return objection === undefined ? this.#ownUser : forbidden(objection);
  }
}

function whyToken(request: IncomingMessage, { user }: Peer): string | undefined {
  if (isForwarded(request)) return `A token is needed: this request came through a proxy. ${WHOSE_TOKEN}`;
  switch (user) {
    case "own":
      return undefined;
    case "another":
      return `A token is needed: this server runs as another user of this machine. ${WHOSE_TOKEN}`;
    case "unknown":
      return `A token is needed: the user of this connection could not be determined. ${WHOSE_TOKEN}`;
  }
}

const WHOSE_TOKEN = "`codex-mcp-server token` shows it to the user who runs the server.";

/** Headers in which proxies and tunnels name their clients. Those starting with `x-forwarded` count too. */
const NAMES = ["forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip"] as const;
const FAMILY = "x-forwarded";

/** Whether the request was forwarded. The user of the connection is then not the user of the request. */
function isForwarded({ headers }: IncomingMessage): boolean {
  if (NAMES.some((name) => headers[name] !== undefined)) return true;
  for (const name in headers) if (name.startsWith(FAMILY)) return true;
  return false;
}

/** The process at the other end of a connection. */
export interface Peer {
  /** `own`: the user that this server runs as, or root. */
  readonly user: "own" | "another" | "unknown";
  /**
   * `inside`: this process, or one that it started. `sandbox`: a command in one of our sandboxes, or a process that cannot be told apart
   * from one.
   */
  readonly place: "outside" | "inside" | "sandbox";
}

/** What this server knows about its own connections and child processes. */
export interface OwnSide {
  /** Whether this process itself connects from this address. */
  connectsFrom(address: string, port: number): boolean;
  hasProcesses(): boolean;
  /** The descendants that could connect to this server. */
  processes(): Promise<readonly { readonly pid: number; readonly confined: boolean }[]>;
  /** Whether a process is a descendant, which may be newer than the list. Also true if that cannot be determined. */
  mayBeOwn(pid: number): boolean;
}

export interface PeerOptions {
  readonly ownSide?: OwnSide | undefined;
  /** Whether users must be determined. Otherwise a connection is looked up only while a process started by this server runs. */
  readonly tellsUsers: boolean;
}

const STRANGER: Peer = { user: "unknown", place: "outside" };
const HIDDEN: Peer = { user: "unknown", place: "sandbox" };

/** Determines once per connection who opened it. */
export class Peers {
  readonly #options: PeerOptions;
  readonly #known = new WeakMap<Socket, Peer | Promise<Peer>>();
  readonly #table = new TcpTable();

  constructor(options: PeerOptions) {
    this.#options = options;
  }

  /** Synchronous for all requests of a connection but the first. */
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

  /** Lists the processes first: a process that still holds the socket afterwards was alive when they were listed. */
  async #find(socket: Socket): Promise<Peer> {
    const connection = clientView(socket);
    if (!connection) return STRANGER;
    if (this.#isOwn(socket)) return { user: "own", place: "inside" };
    const processes = (await this.#options.ownSide?.processes()) ?? [];
    if (!this.#options.tellsUsers && processes.length === 0) return STRANGER;
    const client = await this.#lookUp(connection);
    // The result may belong to a later connection with the same ports.
    if (socket.destroyed) return STRANGER;
    if (client.kind === "absent") return STRANGER;
    const mayBeConfined = processes.some(({ confined }) => confined);
    if (client.kind !== "open") return mayBeConfined ? HIDDEN : STRANGER;
    const mayBeOwn = (pid: number) => this.#options.ownSide?.mayBeOwn(pid) ?? false;
    return { user: userOf(client.uid), place: await placeOf(client, { processes, mayBeOwn }) };
  }

  #lookUp(connection: ClientView): Promise<ClientSocket> {
    return isLoopbackAddress(connection.client.address) ? this.#table.findWithinMachine(connection) : this.#table.find(connection);
  }
}

function clientView({ remoteAddress, remotePort, localAddress, localPort }: Socket): ClientView | undefined {
  if (remoteAddress === undefined || remotePort === undefined || localAddress === undefined || localPort === undefined) return undefined;
  return { client: { address: remoteAddress, port: remotePort }, server: { address: localAddress, port: localPort } };
}

interface PossibleHolders {
  readonly processes: readonly { readonly pid: number; readonly confined: boolean }[];
  readonly mayBeOwn: (pid: number) => boolean;
}

/**
 * A sandboxed command can hide its socket from a search: between two processes, in a process that is newer than the list, or in a thread
 * with its own descriptors. Therefore, while a command runs that could connect at all, a connection of its user counts as its own until a
 * process outside is found to hold it.
 */
async function placeOf(
  { uid, inode }: Extract<ClientSocket, { kind: "open" }>,
  { processes, mayBeOwn }: PossibleHolders,
): Promise<Peer["place"]> {
  if (processes.length === 0) return "outside";
  const search = new HolderSearch(inode);
  const holders = [];
  for (const own of processes) if (await search.isHeldBy(own.pid)) holders.push(own);
  if (holders.length > 0) return holders.some(({ confined }) => confined) ? "sandbox" : "inside";
  // A sandbox creates sockets only as our own user.
  if (uid !== process.geteuid?.() || !processes.some(({ confined }) => confined)) return "outside";
  return (await search.isHeldByOther(new Set(processes.map(({ pid }) => pid)), mayBeOwn)) ? "outside" : "sandbox";
}

function userOf(uid: number): Peer["user"] {
  return uid === 0 || uid === process.geteuid?.() ? "own" : "another";
}

/** Whether the operating system reports which user opened a connection. */
export function canTellUsers(): boolean {
  if (process.platform !== "linux") return false;
  try {
    accessSync("/proc/net/tcp", constants.R_OK);
    return !looksLikeOthers();
  } catch {
    return false;
  }
}

/** In a user namespace, all unmapped users appear with the same overflow id, which may be ours. */
function looksLikeOthers(): boolean {
  const overflow = Number(readFileSync("/proc/sys/kernel/overflowuid", "utf8"));
  if (process.geteuid?.() !== overflow) return false;
  const [inside, outside, count] = readFileSync("/proc/self/uid_map", "utf8").trim().split(/\s+/).map(Number);
  return !(inside === 0 && outside === 0 && count === 0xffff_ffff);
}
