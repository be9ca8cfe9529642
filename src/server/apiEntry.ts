import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import type { Agent } from "../agent/agent.js";
import type { Caller } from "../agent/caller.js";
import { turnWatch } from "../agent/watch/turnWatch.js";
import type { ApiParts, ExaminedPart } from "../api/base/apiParts.js";
import { API_PATH } from "../api/base/apiPath.js";
import type { ApiMount } from "../api/mount.js";
import type { HttpSettings } from "../config/httpSettings.js";
import { BrowserLogins } from "../http/access/browser/browserLogins.js";
import type { HttpAnswer } from "../http/access/identity.js";
import { ConnectionUsers } from "../http/access/local/connectionUsers.js";
import { HttpProblem } from "../http/problem.js";
import type { HttpRequest } from "../http/request.js";
import type { HttpMount } from "../http/router.js";
import { isFields } from "../lib/fields.js";
import { lazily } from "../lib/promises.js";
import { VERSION } from "../lib/version.js";
import type { Telemetry } from "../observability/telemetry.js";
import { SCOPE_WORDS } from "./network.js";

export interface ApiEntryParts {
  readonly agent: () => Promise<Agent>;
  readonly telemetry: () => Promise<Telemetry>;
  readonly ready: () => boolean;
  readonly metrics: ApiParts["metrics"];
  readonly bodies: ApiParts["bodies"];
  readonly http: HttpSettings;
  readonly examine: (() => Promise<readonly ExaminedPart[]>) | undefined;
  readonly failed: (what: string, error: unknown) => string;
  /** Called when a reader of events is disconnected because it does not read. */
  readonly disconnected: () => void;
  /** Called when this request has ended the login of its browser, which may hold event streams. */
  readonly loggedOut: (request: IncomingMessage) => void;
}

/** The HTTP API of a listening server, and its console. The code is loaded with the first request. */
export class ApiEntry {
  readonly #parts: ApiEntryParts;
  readonly #startedAt = Date.now();
  readonly #instance = randomUUID();
  readonly #api = lazily(() => this.#open());
  readonly #files = new ConsoleFiles();
  readonly #streams = new Set<ServerResponse>();
  readonly #users = new ConnectionUsers();
  readonly #logins = new BrowserLogins({
    ownUser: { principal: "local", scopes: SCOPE_WORDS.ownUser },
    port: () => this.#port,
    userOf: (socket) => this.#users.of(socket),
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

  /** The options of access control for browsers. */
  get access() {
    return {
      browsers: { logins: this.#logins, path: API_PATH, loginPath: `${API_PATH}/login` },
      openFolders: this.#files.areThere ? [CONSOLE_PATH, `${CONSOLE_PATH}/`] : [],
      refusalAt: (asked: string, refusal: HttpAnswer) => (asked.startsWith(`${API_PATH}/`) ? asProblem(refusal) : refusal),
    };
  }

  get streamsOpen(): number {
    return this.#streams.size;
  }

  /** Sets the public scheme, host and port of the server. */
  listensOn(origin: string, port: number): void {
    this.#origin = origin;
    this.#port = port;
  }

  /** The URL of the console; undefined if it is not served. */
  get consoleAddress(): string | undefined {
    return this.#origin !== undefined && this.#files.areThere ? `${this.#origin}${CONSOLE_PATH}/` : undefined;
  }

  /** The same with a new one-time code, in the fragment, which browsers do not send to servers. */
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
    const { agent, ready, metrics, http, bodies, failed, examine, disconnected, loggedOut } = this.#parts;
    const telemetry = await this.#parts.telemetry();
    const { keepAliveMs, slowReaderMs } = http.streams;
    const logins = this.#logins;
    return new Mount({
      agent,
      watchTurn: turnWatch(telemetry, { log: telemetry.log.target("api"), trace: undefined }),
      ready,
      metrics,
      failed,
      version: VERSION,
      instance: this.#instance,
      startedAt: this.#startedAt,
      consoleAddress: () => this.consoleAddress,
      examine,
      logins: {
        newCode: () => this.newLogin(),
        byCode: (code, request) => logins.byCode(code, request),
        byToken: (request, principal) => logins.byToken(request, principal),
        end: (request) => {
          const removal = logins.end(request);
          loggedOut(request);
          return removal;
        },
      },
      streams: { keepAliveMs, slowReaderMs, open: this.#streams, disconnected },
      bodies,
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

/** Converts a refusal of access control to the API's problem format. */
function asProblem({ status, headers, body }: HttpAnswer): HttpAnswer {
  const told: unknown = JSON.parse(body);
  const { error, error_description: description } = isFields(told) ? told : {};
  const detail = typeof description === "string" ? description : isFields(error) ? error["message"] : undefined;
  const isForeign = status === 403 && typeof detail === "string" && detail.includes("origin");
  const code = isForeign ? "foreign_origin" : (PROBLEM_CODES[status] ?? "unavailable");
  const problem = { type: "about:blank", title: TITLES[status] ?? "Refused", status, detail: detail ?? "Refused.", code };
  return { status, headers: { ...headers, "content-type": "application/problem+json" }, body: JSON.stringify(problem) };
}

/** The path of the console. */
export const CONSOLE_PATH = "/console";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
  ".json": "application/json",
  ".webmanifest": "application/manifest+json",
};

/** No external sources, nothing inline, no embedding in frames. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; font-src 'self'; connect-src 'self'; manifest-src 'self'; " +
  "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const HEADERS = {
  "content-security-policy": POLICY,
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};
/** The names of these files change with their content. */
const HASHED = /^assets\//;
const SMALLEST_TO_COMPRESS = 1_024;

/** The best first. Browsers accept `br` only over TLS and from their own machine. */
const ENCODERS = {
  br: (bytes: Buffer) => brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (bytes: Buffer) => gzipSync(bytes),
} as const;
type Encoding = keyof typeof ENCODERS;

interface ServedFile {
  readonly bytes: Buffer;
  /** By the encodings that were requested so far; undefined for a file that is not compressed. */
  readonly compressed: Map<Encoding, Buffer> | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** The console's files from the package. Files that did not exist when the server started are not served. */
export class ConsoleFiles {
  readonly #folder: string;
  readonly #names: ReadonlySet<string>;
  readonly #read = new Map<string, ServedFile>();

  constructor(folder = path.join(path.dirname(fileURLToPath(import.meta.url)), "console")) {
    this.#folder = folder;
    this.#names = new Set(namesIn(folder));
  }

  get areThere(): boolean {
    return this.#names.has("index.html");
  }

  get mounts(): readonly HttpMount<Caller>[] {
    if (!this.areThere) return [];
    const serve = (request: HttpRequest<Caller>) => this.#serve(request);
    return [{ path: CONSOLE_PATH, below: true, methods: { GET: serve, HEAD: serve } }];
  }

  #serve({ incoming, response, headers }: HttpRequest<Caller>): void {
    const [target = ""] = (incoming.url ?? "").split("?");
    // A relative location, because a proxy may add a path prefix.
    if (target === CONSOLE_PATH) return void response.writeHead(308, { ...headers, location: "console/" }).end();
    const name = target.slice(CONSOLE_PATH.length + 1) || "index.html";
    // Names are compared literally: a path with dots or escapes matches no file.
    if (!this.#names.has(name)) throw new HttpProblem(404, "The console has no such file");
    const file = this.#file(name);
    const encoding = file.compressed && acceptedEncoding(incoming.headers["accept-encoding"]);
    const bytes = encoding === undefined ? file.bytes : encoded(file, encoding);
    response.writeHead(200, {
      ...headers,
      ...file.headers,
      ...(file.compressed && { vary: "Accept-Encoding" }),
      ...(encoding && { "content-encoding": encoding }),
      "content-length": bytes.length,
    });
    response.end(incoming.method === "HEAD" ? undefined : bytes);
  }

  #file(name: string): ServedFile {
    const known = this.#read.get(name);
    if (known) return known;
    const bytes = readFileSync(path.join(this.#folder, name));
    const type = TYPES[path.extname(name)] ?? "application/octet-stream";
    const isText = !/^(?:image\/png|font\/)/.test(type) && bytes.length >= SMALLEST_TO_COMPRESS;
    const file: ServedFile = {
      bytes,
      compressed: isText ? new Map() : undefined,
      headers: {
        ...HEADERS,
        "content-type": type,
        "cache-control": HASHED.test(name) ? "public, max-age=31536000, immutable" : "no-cache",
      },
    };
    this.#read.set(name, file);
    return file;
  }
}

function acceptedEncoding(header = ""): Encoding | undefined {
  const accepted = new Set<string | undefined>();
  for (const part of header.toLowerCase().split(",")) {
    const [name, weight = ""] = part.split(";").map((each) => each.trim());
    if (!/^q=0(?:\.0*)?$/.test(weight)) accepted.add(name);
  }
  return (["br", "gzip"] as const).find((name) => accepted.has(name));
}

function encoded({ bytes, compressed }: ServedFile, encoding: Encoding): Buffer {
  const found = compressed?.get(encoding) ?? ENCODERS[encoding](bytes);
  compressed?.set(encoding, found);
  return found;
}

function namesIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => path.relative(folder, path.join(parentPath, name)).split(path.sep).join("/"));
  } catch {
    return [];
  }
}
