import type { IncomingMessage } from "node:http";
import { Chain, type Link } from "../lib/chain.js";
import { type Release, Shares, type SharesOptions } from "../lib/shares.js";
import type { Admission } from "./access/identity.js";

/** A request that is being served, by an answer in the making or by a socket that was handed over. */
export class OpenRequest implements Link<OpenRequest> {
  before: OpenRequest | undefined;
  after: OpenRequest | undefined;
  release: Release | undefined;

  constructor(
    readonly request: IncomingMessage,
    readonly served: { destroy(): unknown },
  ) {}
}

/** The requests that are being served, streams and sockets among them: so many at once, shared by principals. */
export class OpenRequests {
  readonly #open = new Chain<OpenRequest>();
  readonly #shares: Shares;

  constructor(limits: SharesOptions) {
    this.#shares = new Shares(limits);
  }

  /** False when its principal has too many open already. */
  begin(open: OpenRequest, principal: string): boolean {
    open.release = this.#shares.take(principal);
    if (!open.release) return false;
    this.#open.append(open);
    return true;
  }

  /** Harmless for one that never began. */
  end(open: OpenRequest): void {
    this.#open.remove(open);
    open.release?.();
  }

  /** Ends those that would not be let in any more: a token may be withdrawn or expire while its bearer still listens. */
  async recheck(admit: (request: IncomingMessage) => Admission | Promise<Admission>): Promise<void> {
    for (const { request, served } of this.#open) {
      const admission = await admit(request);
      if ("answer" in admission) served.destroy();
    }
  }
}
