import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { AppError, errorCode } from "../lib/errors.js";
import { visitEndpoint } from "../mcp/over/streamableHttp/endpoint.js";
import type { Admission } from "./access/admission.js";
import type { AccessControl } from "./accessControl.js";
import { HTTP_RPC, HttpRefusal, isGone, sendJson, sendRefusal } from "./answers.js";
import { Connections } from "./connections.js";
import { OpenRequest, type OpenRequests } from "./openRequests.js";
import type { EndpointRules, Visit } from "./visit.js";

const KEEP_ALIVE_MS = 65_000;
const LOOK_FOR_LATE_REQUESTS_MS = 5_000;
const MAX_HEADERS = 100;
/** A peer that vanished without a word is noticed by the system. */
const TCP_KEEP_ALIVE_MS = 30_000;

/** A page of the server besides MCP: whether it wants the request, and the answer. */
export type Route = (request: IncomingMessage, response: ServerResponse, visit: Visit) => void | Promise<void>;
export type Upgrade = (request: IncomingMessage, socket: Socket, head: Buffer, visit: Visit) => void;

/** How long a client may take. Streams are answers in the making, and may last as long as they like. */
export interface Patience {
  /** Until the headers of a request are there. */
  readonly headersMs: number;
  /** Until the whole of it is. */
  readonly requestMs: number;
  /** Without reading on in an answer that is complete. */
  readonly readingMs: number;
}

export interface HttpServerOptions {
  readonly host: string;
  /** In order; the first that is free is taken. 0 is any. */
  readonly ports: readonly number[];
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer };
  readonly patience: Patience;
  readonly gate: Pick<AccessControl, "admit">;
  readonly rules: EndpointRules;
  /** Path → what answers it. */
  readonly routes: Readonly<Record<string, Route>>;
  readonly upgrade?: Upgrade;
  /** Kept up to date with what is being served. */
  readonly visits: OpenRequests;
  /** Told about every request when it is over. */
  readonly served: (request: { readonly method: string; readonly route: string; readonly status: number; readonly ms: number }) => void;
  /** Told about every request that the gate did not let in, with the status it got. */
  readonly refused: (status: number) => void;
  /** Something nobody foresaw. */
  readonly failed: (what: string, error: unknown) => void;
}

export class CannotListen extends AppError {
  readonly code = "cannot_listen";
}

/** A server that listens. */
export interface HttpServer {
  readonly port: number;
  readonly server: Server;
  /** No new connections from now on; those that are open go on. */
  stopAccepting(): void;
  /** Ends every connection, in bounded time, once its client has read what it was sent. */
  close(): Promise<void>;
}

export async function openHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const server = createListener(options, (request, response) => receive(request, response, options));
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.maxHeadersCount = MAX_HEADERS;
  server.on("connection", (socket: Socket) => socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS).setNoDelay(true));
  server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => upgrade(request, { socket, head, options }));
  const connections = new Connections(server, { secure: options.tls !== undefined, readingMs: options.patience.readingMs });
  const port = await listen(server, options);
  return { port, server, stopAccepting: () => connections.stopAccepting(), close: () => connections.close() };
}

function createListener({ tls, patience }: HttpServerOptions, listener: RequestListener): Server {
  const { requestMs } = patience;
  const headersMs = Math.min(patience.headersMs, requestMs);
  const timing = {
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: Math.min(LOOK_FOR_LATE_REQUESTS_MS, headersMs),
  };
  return tls ? createTlsServer({ ...timing, ...tls }, listener) : createServer(timing, listener);
}

async function listen(server: Server, { host, ports }: HttpServerOptions): Promise<number> {
  for (const [at, port] of ports.entries()) {
    try {
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject).listen({ host, port }, () => {
          server.off("error", reject);
          resolve();
        });
      });
      // An IP server's address is an object.
      return (server.address() as AddressInfo).port;
    } catch (error) {
      if (errorCode(error) === "EADDRINUSE" && at < ports.length - 1) continue;
      throw new CannotListen(`cannot listen on ${host}:${port}: ${reasonOf(error)}`, { cause: error });
    }
  }
  throw new CannotListen("no port was given");
}

function reasonOf(error: unknown): string {
  switch (errorCode(error)) {
    case "EADDRINUSE":
      return "the port is in use; choose another with --port, or 0 for any";
    case "EACCES":
      return "this user may not listen there; choose a port above 1023";
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return "this machine has no such address";
    default:
      return error instanceof Error ? error.message : String(error);
  }
}

function receive(request: IncomingMessage, response: ServerResponse, options: HttpServerOptions): void {
  const began = performance.now();
  const visit = new OpenRequest(request, response);
  // `on`, here and wherever every request comes by: what happens once anyway need not be watched over by `once`.
  response.on("close", () => {
    options.visits.end(visit);
    options.served({
      method: request.method ?? "",
      route: routeOf(request, options),
      status: response.statusCode,
      ms: performance.now() - began,
    });
  });
  const admission = options.gate.admit(request);
  if (admission instanceof Promise)
    admission
      .then((decided) => attend(request, response, { admission: decided, visit, options }))
      .catch((error: unknown) => fail(response, error, options));
  else attend(request, response, { admission, visit, options });
}

interface Attendance {
  readonly admission: Admission;
  readonly visit: OpenRequest;
  readonly options: HttpServerOptions;
}

/** Most of what is served is there at once; what takes longer fails in the same way. */
function attend(request: IncomingMessage, response: ServerResponse, { admission, visit, options }: Attendance): void {
  // Whoever left while it was looked into is over already, and would never be over again.
  if (isGone(response)) return;
  if ("answer" in admission) {
    const { status, headers, body } = admission.answer;
    if (status >= 400) options.refused(status);
    response.writeHead(status, headers).end(body);
    return;
  }
  const failed = (error: unknown) => {
    if (!(error instanceof HttpRefusal)) fail(response, error, options);
    else if (!response.headersSent) sendRefusal(response, error, admission.headers);
  };
  options.visits.begin(visit);
  try {
    serve(request, response, { admitted: admission, options })?.catch(failed);
  } catch (error) {
    failed(error);
  }
}

function serve(
  request: IncomingMessage,
  response: ServerResponse,
  { admitted, options }: { admitted: Visit; options: HttpServerOptions },
): void | Promise<void> {
  const path = pathOf(request);
  if (path === "/mcp" || path === "/") {
    const { visitor, headers } = admitted;
    return visitEndpoint(request, response, { visitor, headers, rules: options.rules });
  }
  const route = Object.hasOwn(options.routes, path) ? options.routes[path] : undefined;
  if (!route) throw new HttpRefusal({ status: 404, code: HTTP_RPC.refused, message: `Nothing is served at ${path}; MCP is at /mcp` });
  return route(request, response, admitted);
}

/** The paths that are served; any other is the client's own invention. */
function routeOf(request: IncomingMessage, { routes }: HttpServerOptions): string {
  const path = pathOf(request);
  if (path === "/mcp" || path === "/") return "/mcp";
  return Object.hasOwn(routes, path) ? path : "other";
}

function fail(response: ServerResponse, error: unknown, options: HttpServerOptions): void {
  options.failed("an HTTP request", error);
  if (response.headersSent) response.destroy();
  else sendJson(response, '{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"internal error"}}', { status: 500 });
}

function upgrade(request: IncomingMessage, { socket, head, options }: { socket: Socket; head: Buffer; options: HttpServerOptions }): void {
  socket.on("error", () => socket.destroy());
  const decide = (admission: Admission) => {
    if (socket.destroyed) return;
    if ("answer" in admission) return refuseUpgrade(socket, admission.answer);
    const path = pathOf(request);
    if (!options.upgrade || (path !== "/mcp" && path !== "/"))
      return refuseUpgrade(socket, { status: 404, headers: {}, body: "WebSocket is served at /mcp\n" });
    const visit = new OpenRequest(request, socket);
    options.visits.begin(visit);
    socket.once("close", () => options.visits.end(visit));
    options.upgrade(request, socket, head, admission);
  };
  const fallen = (error: unknown) => {
    options.failed("a WebSocket upgrade", error);
    socket.destroy();
  };
  Promise.resolve(options.gate.admit(request)).then(decide).catch(fallen);
}

/** An upgrade is refused with an ordinary answer; there is no `ServerResponse` for it. */
export function refuseUpgrade(
  socket: Socket,
  { status, headers, body }: { status: number; headers: Readonly<Record<string, string>>; body: string },
): void {
  const lines = Object.entries({ ...headers, "content-length": String(Buffer.byteLength(body)), connection: "close" }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  // A client that does not close its side would otherwise hold the connection for ever.
  socket.end([`HTTP/1.1 ${status} Refused`, ...lines, "", body].join("\r\n"), () => socket.destroy());
}

function pathOf({ url = "/" }: IncomingMessage): string {
  const end = url.indexOf("?");
  return end < 0 ? url : url.slice(0, end);
}
