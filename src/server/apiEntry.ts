import { randomUUID } from "node:crypto";
import type { Agent } from "../agent/agent.js";
import type { Caller } from "../agent/caller.js";
import { turnWatch } from "../agent/watch/turnWatch.js";
import type { ExaminedPart } from "../api/base/apiParts.js";
import { API_PATH } from "../api/base/apiPath.js";
import type { ApiMount } from "../api/mount.js";
import type { HttpSettings } from "../config/httpSettings.js";
import { BrowserLogins } from "../http/access/browser/browserLogins.js";
import type { HttpAnswer } from "../http/access/identity.js";
import type { HttpMount } from "../http/router.js";
import { isFields } from "../lib/fields.js";
import { lazily } from "../lib/promises.js";
import { VERSION } from "../lib/version.js";
import type { Telemetry } from "../observability/telemetry.js";
import { SCOPE_WORDS } from "./callers.js";
import { CONSOLE_PATH, ConsoleFiles } from "./consoleFiles.js";

export interface ApiEntryParts {
  readonly agent: () => Promise<Agent>;
  readonly telemetry: () => Promise<Telemetry>;
  readonly ready: () => boolean;
  readonly http: HttpSettings;
  readonly examine: (() => Promise<readonly ExaminedPart[]>) | undefined;
  readonly failed: (what: string, error: unknown) => string;
}

/** The HTTP API of a listening server, and the console that uses it. Its code is loaded with the first request to it. */
export class ApiEntry {
  readonly #parts: ApiEntryParts;
  readonly #startedAt = Date.now();
  readonly #instance = randomUUID();
  readonly #api = lazily(() => this.#open());
  readonly #files = new ConsoleFiles();
  readonly #logins = new BrowserLogins({
    ownUser: { principal: "local", scopes: SCOPE_WORDS.ownUser },
    port: () => this.#port,
  });
  #port = 0;
  #origin: string | undefined;

  constructor(parts: ApiEntryParts) {
    this.#parts = parts;
  }

  get mounts(): readonly HttpMount<Caller>[] {
    const api: HttpMount<Caller> = {
      path: API_PATH,
      below: true,
      methods: {},
      any: async (request) => (await this.#api.get()).serve(request),
    };
    return [api, ...this.#files.mounts];
  }

  /** What access control has to know of browsers. */
  get access() {
    return {
      browsers: { logins: this.#logins, path: API_PATH, loginPath: `${API_PATH}/login` },
      openFolders: this.#files.areThere ? [CONSOLE_PATH, `${CONSOLE_PATH}/`] : [],
      refusalAt: (path: string, refusal: HttpAnswer) => (path.startsWith(`${API_PATH}/`) ? asProblem(refusal) : refusal),
    };
  }

  /** Scheme, host and port that people reach the server by. */
  listensOn(origin: string, port: number): void {
    this.#origin = origin;
    this.#port = port;
  }

  /** Where the console is; undefined where none is served. */
  get consoleAddress(): string | undefined {
    return this.#origin !== undefined && this.#files.areThere ? `${this.#origin}${CONSOLE_PATH}/` : undefined;
  }

  /** The same with a fresh one-time code. Behind `#`, which browsers send to nobody. */
  newLogin(): { readonly address: string; readonly expiresAt: number } | undefined {
    const { consoleAddress } = this;
    if (consoleAddress === undefined) return undefined;
    const { code, expiresAt } = this.#logins.newCode();
    return { address: `${consoleAddress}#code=${code}`, expiresAt };
  }

  close(): void {
    this.#api.ifLoaded().then(
      (api) => api?.close(),
      () => undefined,
    );
  }

  async #open(): Promise<ApiMount> {
    const { ApiMount: Mount } = await import("../api/mount.js");
    const { agent, ready, http, failed, examine } = this.#parts;
    const telemetry = await this.#parts.telemetry();
    const { keepAliveMs, slowReaderMs } = http.streams;
    const logins = this.#logins;
    return new Mount({
      agent,
      watchTurn: turnWatch(telemetry, { log: telemetry.log.target("api"), trace: undefined }),
      ready,
      failed,
      version: VERSION,
      instance: this.#instance,
      startedAt: this.#startedAt,
      consoleAddress: () => this.consoleAddress,
      examine,
      logins: {
        newCode: () => this.newLogin(),
        byCode: (code, request) => logins.byCode(code, request),
        byToken: (request) => logins.byToken(request),
        end: (request) => logins.end(request),
      },
      streams: { keepAliveMs, slowReaderMs },
      maxBodyBytes: http.maxBodyBytes,
    });
  }
}

const PROBLEM_CODES: Readonly<Record<number, string>> = {
  400: "invalid_request",
  401: "not_authenticated",
  403: "forbidden",
  429: "too_many_requests",
};
const TITLES: Readonly<Record<number, string>> = { 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 429: "Too Many Requests" };

/** A refusal of access control in the form that the API's own have. */
function asProblem({ status, headers, body }: HttpAnswer): HttpAnswer {
  const told: unknown = JSON.parse(body);
  const { error, error_description: description } = isFields(told) ? told : {};
  const detail = typeof description === "string" ? description : isFields(error) ? error["message"] : undefined;
  const isForeign = status === 403 && typeof detail === "string" && detail.includes("origin");
  const code = isForeign ? "foreign_origin" : (PROBLEM_CODES[status] ?? "unavailable");
  const problem = { type: "about:blank", title: TITLES[status] ?? "Refused", status, detail: detail ?? "Refused.", code };
  return { status, headers: { ...headers, "content-type": "application/problem+json" }, body: JSON.stringify(problem) };
}
