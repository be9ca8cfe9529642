import type { IncomingMessage } from "node:http";
import type { Admission } from "./access/admission.js";

interface OpenVisit {
  readonly request: IncomingMessage;
  readonly end: () => void;
}

/** Connections that are being served. A token may be withdrawn or expire while its bearer still listens. */
export class OpenVisits {
  readonly #open = new Set<OpenVisit>();

  /** Returns what is to be called when the connection is over. */
  begin(visit: OpenVisit): () => void {
    this.#open.add(visit);
    return () => this.#open.delete(visit);
  }

  /** Ends those that would not be let in any more. */
  async recheck(admit: (request: IncomingMessage) => Admission | Promise<Admission>): Promise<void> {
    for (const visit of this.#open) {
      const admission = await admit(visit.request);
      if ("answer" in admission) visit.end();
    }
  }
}
