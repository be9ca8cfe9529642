import type { IncomingMessage } from "node:http";
import { requestPath } from "./access/requestHeaders.js";
import { HttpProblem } from "./problem.js";
import type { HttpRequest, HttpUpgrade } from "./request.js";

export type HttpHandler<Caller> = (request: HttpRequest<Caller>) => void | Promise<void>;
export type UpgradeHandler<Caller> = (upgrade: HttpUpgrade<Caller>) => void;

/** The handlers of one path. */
export interface HttpMount<Caller> {
  readonly path: string;
  /** The handlers also serve every path below, and parse the rest of the path themselves. */
  readonly below?: true;
  /** Further paths with the same handlers. */
  readonly aliases?: readonly string[];
  readonly methods: Readonly<Record<string, HttpHandler<Caller>>>;
  /** Handles every method, with its own router. */
  readonly any?: HttpHandler<Caller>;
  readonly upgrade?: UpgradeHandler<Caller>;
}

/** The label of all unknown paths: clients could otherwise create any number of labels. */
const OTHER_PATHS = "other";

/** Maps path and method to a handler. */
export class Router<Caller> {
  readonly #mounts: readonly HttpMount<Caller>[];
  readonly #hint: string;
  readonly #byPath = new Map<string, HttpMount<Caller>>();
  readonly #folders: readonly HttpMount<Caller>[];

  constructor(
    mounts: readonly HttpMount<Caller>[],
    /** A text for people that says which paths exist. */
    hint: string,
  ) {
    this.#mounts = mounts;
    this.#hint = hint;
    this.#folders = mounts.filter(({ below }) => below);
    for (const mount of mounts) for (const path of [mount.path, ...(mount.aliases ?? [])]) this.#byPath.set(path, mount);
  }

  /** Throws `HttpProblem` if nothing is served at the path, or not with this method. */
  handlerOf(request: IncomingMessage): HttpHandler<Caller> {
    const path = requestPath(request);
    const mount = this.#mountAt(path);
    if (!mount) throw new HttpProblem(404, `Nothing is served at ${path}; ${this.#hint}`);
    const { method = "" } = request;
    const handler = mount.any ?? (Object.hasOwn(mount.methods, method) ? mount.methods[method] : undefined);
    if (!handler) throw new HttpProblem(405, `${method} is not served at ${mount.path}`, { allow: allowed(mount) });
    return handler;
  }

  /** Throws `HttpProblem` if the path takes no upgrade. */
  upgradeOf(request: IncomingMessage): UpgradeHandler<Caller> {
    const upgrade = this.#byPath.get(requestPath(request))?.upgrade;
    if (upgrade) return upgrade;
    const places = this.#mounts.filter((mount) => mount.upgrade).map(({ path }) => path);
    throw new HttpProblem(404, places.length > 0 ? `WebSocket is served at ${places.join(", ")}` : "WebSocket is not served here");
  }

  /** The mount's own path, for metrics. */
  labelOf(request: IncomingMessage): string {
    return this.#mountAt(requestPath(request))?.path ?? OTHER_PATHS;
  }

  #mountAt(path: string): HttpMount<Caller> | undefined {
    return this.#byPath.get(path) ?? this.#folders.find((mount) => path.startsWith(`${mount.path}/`));
  }
}

/** Access control answers OPTIONS on every path. */
function allowed({ methods }: HttpMount<never>): string {
  return [...Object.keys(methods), "OPTIONS"].join(", ");
}
