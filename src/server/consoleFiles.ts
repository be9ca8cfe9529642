import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";
import type { Caller } from "../agent/caller.js";
import { HttpProblem } from "../http/problem.js";
import type { HttpRequest } from "../http/request.js";
import type { HttpMount } from "../http/router.js";

/** Where the console is served. */
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

/** Nothing from elsewhere, nothing inline, in nobody's frame. */
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
/** Names of these files change with their contents. */
const HASHED = /^assets\//;
const SMALLEST_TO_COMPRESS = 1_024;

interface ServedFile {
  readonly bytes: Buffer;
  readonly compressed: Buffer | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** The console's files, as they were built into the package. What was not there when the server started is not served. */
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
    // Relative to the page that was asked for: a proxy may have put something before it.
    if (target === CONSOLE_PATH) return void response.writeHead(308, { ...headers, location: "console/" }).end();
    const name = target.slice(CONSOLE_PATH.length + 1) || "index.html";
    // Names are compared as they are: a path with dots or escapes is the name of no file.
    if (!this.#names.has(name)) throw new HttpProblem(404, "The console has no such file");
    const file = this.#file(name);
    const compressed = /\bbr\b/.test(incoming.headers["accept-encoding"] ?? "") ? file.compressed : undefined;
    const bytes = compressed ?? file.bytes;
    response.writeHead(200, {
      ...headers,
      ...file.headers,
      ...(file.compressed && { vary: "Accept-Encoding" }),
      ...(compressed && { "content-encoding": "br" }),
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
      compressed: isText ? brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }) : undefined,
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
