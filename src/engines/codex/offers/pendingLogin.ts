import { deferred } from "../../../lib/deferred.js";
import type { AppServer } from "../appServer.js";
import { fieldsOf } from "../translate/read.js";

/** The codes are valid for a quarter of an hour. */
const PATIENCE_MS = 20 * 60_000;
const CANCEL_MS = 2_000;

/** A login that waits until its user has typed the code. The process that asked for the code must live as long. */
export class PendingLogin {
  readonly #over = deferred<void>();

  constructor(
    private readonly server: AppServer,
    private readonly loginId: string,
  ) {}

  /** Resolves when nobody waits for it any more: it is done, cancelled or too late, or Codex is gone. Never rejects. */
  async settled(): Promise<void> {
    const tooLate = setTimeout(() => this.#over.resolve(), PATIENCE_MS);
    const stopListening = this.server.overhear((method, params) => {
      if (method === "account/login/completed" && fieldsOf(params)["loginId"] === this.loginId) this.#over.resolve();
    });
    try {
      await Promise.race([this.#over.promise, this.server.gone]);
    } finally {
      clearTimeout(tooLate);
      stopListening();
    }
  }

  /** Harmless when it is over. */
  async cancel(): Promise<void> {
    // Whatever Codex answers, nobody waits for this login any more.
    await this.server.request("account/login/cancel", { loginId: this.loginId }, { timeoutMs: CANCEL_MS }).catch(() => undefined);
    this.#over.resolve();
  }
}
