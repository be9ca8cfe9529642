import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { AppError, errorCode } from "../lib/errors.js";
import type { Admission, HttpAnswer, Identity } from "./access/identity.js";
import type { AccessControl } from "./accessControl.js";
import { isGone, sendProblem } from "./answers.js";
import { Connections, OpenRequest, type OpenRequests } from "./connections.js";
import { HttpProblem, type ProblemText } from "./problem.js";
import type { Router } from "./router.js";

const KEEP_ALIVE_MS = 65_000;
const LOOK_FOR_LATE_REQUESTS_MS = 5_000;
/** With TCP keep-alive, the system detects a peer that vanished. */
const TCP_KEEP_ALIVE_MS = 30_000;
/** Retry-After for a principal with too many open requests. */
const RETRY_AFTER_SECONDS = "5";

/** The timeouts of clients. They do not apply to streams, which are unfinished responses. */
export interface HttpTimeouts {
  /** For the headers of a request. */
  readonly headersMs: number;
  /** For the whole request. */
  readonly requestMs: number;
  /** Without reading any of a completed response. */
  readonly readingMs: number;
}

export interface HttpServerOptions<Caller> {
  readonly host: string;
  /** In order: the first free one is used. 0 is any. */
  readonly ports: readonly number[];
  readonly tls?: { readonly cert: string | Buffer; readonly key: string | Buffer };
  readonly timeouts: HttpTimeouts;
  readonly access: Pick<AccessControl, "admit">;
  /** Converts an identity to the caller that handlers get. */
  readonly callerOf: (identity: Identity, request: IncomingMessage) => Caller;
  readonly router: Router<Caller>;
  /** Tracks the requests in progress. */
  readonly open: OpenRequests;
  /** The format of problems for which a handler defines no other. */
  readonly problemText: ProblemText;
  /** Called for every request when it is complete. */
  readonly served: (request: { readonly method: string; readonly route: string; readonly status: number; readonly ms: number }) => void;
  /** Called for every request that access control refused, with its status. */
  readonly refused: (status: number) => void;
  /** Logs an unexpected error, and returns the message for the client. */
  readonly failed: (what: string, error: unknown) => string;
}

export class CannotListen extends AppError {
  readonly code = "cannot_listen";
}

/** A listening server. */
export interface HttpServer {
  readonly port: number;
  readonly server: Server;
  /** Accepts no new connections; open ones stay. */
  stopAccepting(): void;
  /** Closes every connection in bounded time, after its client has read its responses. */
  close(): Promise<void>;
}

export async function openHttpServer<Caller>(options: HttpServerOptions<Caller>): Promise<HttpServer> {
  const server = createListener(options, (request, response) => receive(request, response, options));
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  // Beyond a limit, Node drops headers silently, including those that access control has to see. Their total size is limited.
  server.maxHeadersCount = 0;
  server.on("connection", (socket: Socket) => socket.setKeepAlive(true, TCP_KEEP_ALIVE_MS).setNoDelay(true));
  server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => upgrade(request, { socket, head, options }));
  const connections = new Connections(server, { secure: options.tls !== undefined, readingMs: options.timeouts.readingMs });
  const port = await listen(server, options);
  return { port, server, stopAccepting: () => connections.stopAccepting(), close: () => connections.close() };
}

function createListener({ tls, timeouts }: Pick<HttpServerOptions<never>, "tls" | "timeouts">, listener: RequestListener): Server {
  const { requestMs } = timeouts;
  const headersMs = Math.min(timeouts.headersMs, requestMs);
  const timing = {
    headersTimeout: headersMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: Math.min(LOOK_FOR_LATE_REQUESTS_MS, headersMs),
  };
  return tls ? createTlsServer({ ...timing, ...tls }, listener) : createServer(timing, listener);
}

async function listen(server: Server, { host, ports }: Pick<HttpServerOptions<never>, "host" | "ports">): Promise<number> {
  for (const [at, port] of ports.entries()) {
    try {
      await new Promise<void>((resolve, reject) => {
        server.once("error", reject).listen({ host, port }, () => {
          server.off("error", reject);
          resolve();
        });
      });
      // The address of an IP server is an object.
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

function receive<Caller>(request: IncomingMessage, response: ServerResponse, options: HttpServerOptions<Caller>): void {
  const began = performance.now();
  const open = new OpenRequest(request, response);
  // `on` is cheaper than `once` on the path of every request, and `close` happens only once.
  response.on("close", () => {
    options.open.end(open);
    options.served({
      method: request.method ?? "",
      route: options.router.labelOf(request),
      status: response.statusCode,
      ms: performance.now() - began,
    });
  });
  const admission = options.access.admit(request);
  if (admission instanceof Promise)
    admission
      .then((decided) => serve(open, response, { admission: decided, options }))
      .catch((error: unknown) => fail(response, error, { options, headers: {} }));
  else serve(open, response, { admission, options });
}

/** Most handlers complete synchronously; a rejected promise is handled like a thrown error. */
function serve<Caller>(
  open: OpenRequest,
  response: ServerResponse,
  { admission, options }: { readonly admission: Admission; readonly options: HttpServerOptions<Caller> },
): void {
  // If the client left during the check, `close` has already fired and would not fire again.
  if (isGone(response)) return;
  if ("answer" in admission) {
    const { status, headers, body } = admission.answer;
    if (status >= 400) options.refused(status);
    response.writeHead(status, headers).end(body);
    return;
  }
  const { identity, headers } = admission;
  try {
    if (!options.open.begin(open, identity)) throw tooMany();
    const { request: incoming } = open;
    const handler = options.router.handlerOf(incoming);
    handler({ incoming, response, caller: options.callerOf(identity, incoming), headers })?.catch((error: unknown) =>
      fail(response, error, { options, headers }),
    );
  } catch (error) {
    fail(response, error, { options, headers });
  }
}

function tooMany(): HttpProblem {
  return new HttpProblem(429, "You have too many open requests, including streams and WebSockets; close some, or try again later", {
    "retry-after": RETRY_AFTER_SECONDS,
  });
}

function fail(
  response: ServerResponse,
  error: unknown,
  {
    options,
    headers,
  }: { readonly options: Pick<HttpServerOptions<never>, "failed" | "problemText">; readonly headers: Readonly<Record<string, string>> },
): void {
  const foreseen = error instanceof HttpProblem;
  const problem = foreseen ? error : new HttpProblem(500, options.failed("an HTTP request", error));
  if (!response.headersSent) sendProblem(response, problem, { text: options.problemText, also: headers });
  else if (!foreseen) response.destroy();
}

function upgrade<Caller>(
  request: IncomingMessage,
  { socket, head, options }: { readonly socket: Socket; readonly head: Buffer; readonly options: HttpServerOptions<Caller> },
): void {
  socket.on("error", () => socket.destroy());
  const decide = (admission: Admission) => {
    if (socket.destroyed) return;
    if ("answer" in admission) return refuseUpgrade(socket, admission.answer);
    const { identity } = admission;
    const take = options.router.upgradeOf(request);
    const open = new OpenRequest(request, socket);
    if (!options.open.begin(open, identity)) throw tooMany();
    socket.once("close", () => options.open.end(open));
    take({ incoming: request, socket, head, caller: options.callerOf(identity, request) });
  };
  const refuse = (error: unknown) => {
    if (error instanceof HttpProblem) return refuseUpgrade(socket, problemAnswer(error, options.problemText));
    options.failed("a WebSocket upgrade", error);
    socket.destroy();
  };
  Promise.resolve(options.access.admit(request)).then(decide).catch(refuse);
}

function problemAnswer(problem: HttpProblem, text: ProblemText): HttpAnswer {
  return { status: problem.status, headers: { "content-type": "application/json", ...problem.headers }, body: text(problem) };
}

/** An upgrade is refused with an ordinary HTTP response, for which there is no `ServerResponse`. */
function refuseUpgrade(socket: Socket, { status, headers, body }: HttpAnswer): void {
  const lines = Object.entries({ ...headers, "content-length": String(Buffer.byteLength(body)), connection: "close" }).map(
    ([name, value]) => `${name}: ${value}`,
  );
  // A client that does not close its side would otherwise hold the connection for ever.
  socket.end([`HTTP/1.1 ${status} Refused`, ...lines, "", body].join("\r\n"), () => socket.destroy());
}
