import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { isDeepStrictEqual } from "node:util";
import { endsWithin } from "../lib/promises.js";
import { type Release, Shares, type SharesOptions } from "../lib/shares.js";
import type { Admission, Identity } from "./access/identity.js";

/** The time that clients have to read the rest of their responses on shutdown. */
const HAND_OVER_MS = 2_000;

/** The connections of a server, closed without cutting off a response. */
export class Connections {
  /** The number of unfinished responses per connection. WebSockets are excluded: they are closed separately. */
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
    // Node treats a connection as idle as soon as its response is written, although the client may not have read it yet.
    server.closeIdleConnections = () => this.#endIdle();
  }

  /** Accepts no new connections. Those with a response in progress stay open until it is sent. */
  stopAccepting(): void {
    this.#leaving = true;
    if (this.#server.listening) this.#server.close();
  }

  /** Resolves when all connections are closed. A client that does not read is disconnected in the end. */
  async close(): Promise<void> {
    this.stopAccepting();
    if (await endsWithin(HAND_OVER_MS, this.#allClosed)) return;
    this.#server.closeAllConnections();
  }

  #follow(response: ServerResponse): void {
    const { socket } = response;
    if (!socket) return;
    this.#count(socket, 1);
    // The response is fully written. A client that reads nothing for this long never will. Node sets its own timeout once it was sent.
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

/** A request in progress: a response, or a socket that was handed over. */
export class OpenRequest {
  release: Release | undefined;
  identity: Identity | undefined;

  constructor(
    readonly request: IncomingMessage,
    readonly served: { destroy(): unknown },
  ) {}
}

/** The requests in progress, including streams and sockets. Their number is limited and shared by the principals. */
export class OpenRequests {
  readonly #open = new Set<OpenRequest>();
  readonly #shares: Shares;

  constructor(limits: SharesOptions) {
    this.#shares = new Shares(limits);
  }

  /** Returns false if the principal has too many open requests. */
  begin(open: OpenRequest, identity: Identity): boolean {
    open.release = this.#shares.take(identity.principal);
    if (!open.release) return false;
    open.identity = identity;
    this.#open.add(open);
    return true;
  }

  /** Harmless if `begin` returned false. */
  end(open: OpenRequest): void {
    this.#open.delete(open);
    open.release?.();
  }

  /**
   * Ends requests that would no longer be admitted, or as somebody else: a token may expire, be withdrawn or lose scopes while its bearer holds a
   * stream. `besides`: a request that is being answered.
   */
  async recheck(admit: (request: IncomingMessage) => Admission | Promise<Admission>, besides?: IncomingMessage): Promise<void> {
    for (const { request, served, identity } of Array.from(this.#open)) {
      if (request === besides) continue;
      const admission = await admit(request);
      if ("answer" in admission || !isDeepStrictEqual(admission.identity, identity)) served.destroy();
    }
  }
}

/** A pending request that is notified once when it has waited too long. */
export abstract class SlowRequest {
  /** The check at which it is late. */
  lateAt = 0;

  abstract waitedLong(): void;
}

/** The interval of checks: a notification is late by at most this time. */
const LOOK_EVERY_MS = 100;

/**
 * One timer for all pending requests. Most complete in the same iteration of the event loop, and a timer for each would cost more than the
 * response.
 */
export class SlowRequests {
  /** In order of arrival. */
  readonly #waiting = new Set<SlowRequest>();
  readonly #looks: number;
  #look = 0;
  #clock: NodeJS.Timeout | undefined;

  constructor(patienceMs: number) {
    // The first check may follow immediately.
    this.#looks = Math.ceil(patienceMs / LOOK_EVERY_MS) + 1;
  }

  begin(waiting: SlowRequest): void {
    waiting.lateAt = this.#look + this.#looks;
    this.#waiting.add(waiting);
    this.#clock ??= setInterval(() => this.#lookAround(), LOOK_EVERY_MS).unref();
  }

  end(waiting: SlowRequest): void {
    this.#waiting.delete(waiting);
  }

  #lookAround(): void {
    this.#look++;
    for (const request of this.#waiting) {
      if (request.lateAt > this.#look) break;
      this.#waiting.delete(request);
      request.waitedLong();
    }
    if (this.#waiting.size > 0) return;
    clearInterval(this.#clock);
    this.#clock = undefined;
  }
}
