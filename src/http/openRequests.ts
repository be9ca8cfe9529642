import type { IncomingMessage } from "node:http";
import { Chain, type Link } from "../lib/chain.js";
import type { Admission } from "./access/admission.js";

/** A request that is being served, by an answer in the making or by a socket that was handed over. */
export class OpenRequest implements Link<OpenRequest> {
  before: OpenRequest | undefined;
  after: OpenRequest | undefined;

  constructor(
    readonly request: IncomingMessage,
    readonly served: { destroy(): unknown },
  ) {}
}

/** Connections that are being served. A token may be withdrawn or expire while its bearer still listens. */
export class OpenRequests {
  readonly #open = new Chain<OpenRequest>();

  begin(visit: OpenRequest): void {
    this.#open.append(visit);
  }

  end(visit: OpenRequest): void {
    this.#open.remove(visit);
  }

  /** Ends those that would not be let in any more. */
  async recheck(admit: (request: IncomingMessage) => Admission | Promise<Admission>): Promise<void> {
    for (const { request, served } of this.#open) {
      const admission = await admit(request);
      if ("answer" in admission) served.destroy();
    }
  }
}
