import { randomUUID } from "node:crypto";
import type { Agent } from "../agent/agent.js";
import type { Caller } from "../agent/caller.js";
import { API_PATH } from "../api/base/apiPath.js";
import type { ApiMount } from "../api/mount.js";
import type { HttpSettings } from "../config/httpSettings.js";
import type { HttpMount } from "../http/router.js";
import { lazily } from "../lib/promises.js";
import { VERSION } from "../lib/version.js";

export interface ApiEntryParts {
  readonly agent: () => Promise<Agent>;
  readonly ready: () => boolean;
  readonly http: HttpSettings;
  readonly failed: (what: string, error: unknown) => string;
}

/** The HTTP API of a listening server. Its code is loaded with the first request to it. */
export class ApiEntry {
  readonly #parts: ApiEntryParts;
  readonly #startedAt = Date.now();
  readonly #instance = randomUUID();
  readonly #api = lazily(() => this.#open());

  constructor(parts: ApiEntryParts) {
    this.#parts = parts;
  }

  get mount(): HttpMount<Caller> {
    return { path: API_PATH, below: true, methods: {}, any: async (request) => (await this.#api.get()).serve(request) };
  }

  close(): void {
    this.#api.ifLoaded().then(
      (api) => api?.close(),
      () => undefined,
    );
  }

  async #open(): Promise<ApiMount> {
    const { ApiMount: Mount } = await import("../api/mount.js");
    const { agent, ready, http, failed } = this.#parts;
    const { keepAliveMs, slowReaderMs } = http.streams;
    return new Mount({
      agent,
      ready,
      failed,
      version: VERSION,
      instance: this.#instance,
      startedAt: this.#startedAt,
      consoleAddress: () => undefined,
      examine: async () => [],
      logins: { newCode: () => undefined, byCode: () => undefined, byToken: () => undefined, end: () => "" },
      streams: { keepAliveMs, slowReaderMs },
      maxBodyBytes: http.maxBodyBytes,
      isViaConsole: () => false,
    });
  }
}
