import { methodNotFound } from "../../jsonrpc/errors.js";
import { type Deferred, deferred } from "../../lib/deferred.js";
import { isFields } from "../../lib/fields.js";
import { VERSION } from "../../lib/version.js";
import { META } from "./claim.js";
import type { StatelessMethod, StatelessRequest } from "./request.js";

const SERVER_INFO = { name: "codex-mcp-server", title: "Codex", version: VERSION };

export interface DoorOptions {
  /** What a client may ask. */
  readonly methods: Readonly<Record<string, StatelessMethod>>;
  /** Called when the server begins to leave: what only waits for changes ends. */
  readonly leaving?: () => void;
  /** Resolves when what goes on without a request has ended. */
  readonly settled?: () => Promise<void>;
}

/** MCP without sessions (2026-07-28): every request brings what it takes to answer it. */
export class StatelessDoor {
  #serving = 0;
  #idle: Deferred<void> | undefined;

  constructor(private readonly options: DoorOptions) {}

  async answer(request: StatelessRequest): Promise<unknown> {
    const { methods } = this.options;
    const method = Object.hasOwn(methods, request.method) ? methods[request.method] : undefined;
    if (!method) throw methodNotFound(request.method);
    this.#serving++;
    try {
      const result = await method(request);
      const meta = isFields(result["_meta"]) ? result["_meta"] : {};
      return { resultType: "complete", ...result, _meta: { ...meta, [META.serverInfo]: SERVER_INFO } };
    } finally {
      if (--this.#serving === 0) this.#idle?.resolve();
    }
  }

  /** Subscriptions are over; calls go on. */
  leave(): void {
    this.options.leaving?.();
  }

  /** Resolves when no request is being answered. */
  idle(): Promise<void> {
    if (this.#serving === 0) return Promise.resolve();
    this.#idle ??= deferred<void>();
    return this.#idle.promise;
  }

  /** Resolves when no task goes on and what became of each is on the disk. */
  async settle(): Promise<void> {
    await this.options.settled?.();
  }
}
