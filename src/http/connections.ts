import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { endsWithin } from "../lib/promises.js";
import { type Release, Shares, type SharesOptions } from "../lib/shares.js";
import type { Admission } from "./access/identity.js";

/** What clients get to read the rest of their answers in. */
const HAND_OVER_MS = 2_000;

/** The connections of a server, and how they end without cutting off an answer. */
export class Connections {
  /** How many answers each still has to hand over. WebSockets are not among them: they say goodbye by themselves. */
  readonly #answering = new Map<Socket, number>();
  readonly #allClosed: Promise<void>;
  readonly #server: Server;
  readonly #options: { readonly secure: boolean; readonly readingMs: number };
  #leaving = false;

  constructor(server: Server, options: { readonly secure: boolean; readonly readingMs: number }) {
    this.#server = server;
    this.#options = options;
    server.on(options.secure ? "secureConnection" : "connection", (socket: Socket) => {
      this.#answering.set(socket, 0);
      socket.once("close", () => this.#answering.delete(socket));
    });
    server.on("request", (_, response: ServerResponse) => this.#follow(response));
    server.on("upgrade", (_, socket: Socket) => this.#answering.delete(socket));
    this.#allClosed = new Promise((resolve) => server.once("close", resolve));
    // Node takes a connection for idle as soon as its answer is written, though the client may not have read it yet.
    server.closeIdleConnections = () => this.#endIdle();
  }

  /** No new ones from now on. Those with an answer in the making go on until it has left. */
  stopAccepting(): void {
    this.#leaving = true;
    if (this.#server.listening) this.#server.close();
  }

  /** Resolves when all are gone; whoever does not read is cut off in the end. */
  async close(): Promise<void> {
    this.stopAccepting();
    if (await endsWithin(HAND_OVER_MS, this.#allClosed)) return;
    this.#server.closeAllConnections();
  }

  #follow(response: ServerResponse): void {
    const { socket } = response;
    if (!socket) return;
    this.#count(socket, 1);
    // It is all written; a client that takes none of it for this long never will. Node sets its own limit once it has left.
    response.on("prefinish", () => socket.setTimeout(this.#options.readingMs));
    response.on("close", () => {
      this.#count(socket, -1);
      if (this.#leaving) this.#endIdle();
    });
  }

  #count(socket: Socket, change: number): void {
    const answers = this.#answering.get(socket);
    if (answers !== undefined) this.#answering.set(socket, answers + change);
  }

  #endIdle(): void {
    for (const [socket, answers] of this.#answering) if (answers === 0) socket.destroySoon();
  }
}

/** A request that is being served, by an answer in the making or by a socket that was handed over. */
export class OpenRequest {
  release: Release | undefined;

  constructor(
    readonly request: IncomingMessage,
    readonly served: { destroy(): unknown },
  ) {}
}

/** The requests that are being served, streams and sockets among them: so many at once, shared by principals. */
export class OpenRequests {
  readonly #open = new Set<OpenRequest>();
  readonly #shares: Shares;

  constructor(limits: SharesOptions) {
    this.#shares = new Shares(limits);
  }

  /** False when its principal has too many open already. */
  begin(open: OpenRequest, principal: string): boolean {
    open.release = this.#shares.take(principal);
    if (!open.release) return false;
    this.#open.add(open);
    return true;
  }

  /** Harmless for one that never began. */
  end(open: OpenRequest): void {
    this.#open.delete(open);
    open.release?.();
  }

  /** Ends those that would not be let in any more: a token may be withdrawn or expire while its bearer still listens. */
  async recheck(admit: (request: IncomingMessage) => Admission | Promise<Admission>): Promise<void> {
    for (const { request, served } of Array.from(this.#open)) {
      const admission = await admit(request);
      if ("answer" in admission) served.destroy();
    }
  }
}
