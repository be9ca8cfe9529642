import type { IncomingMessage } from "node:http";
import { Server as TlsServer } from "node:https";
import { checkCeilings } from "../agent/ceilings.js";
import type { HttpSettings } from "../config/httpSettings.js";
import { hasOwnProcesses, mayBeDescendant, OwnConnections, ownProcesses } from "../exec/ownProcesses.js";
import { reachOf } from "../http/access/host/hostName.js";
import { loadTls, renewTls } from "../http/access/tls.js";
import { openAccessControl } from "../http/accessControl.js";
import { RequestBodies } from "../http/body.js";
import { OpenRequests } from "../http/connections.js";
import { Router } from "../http/router.js";
import { openHttpServer } from "../http/server.js";
import { endsWithin } from "../lib/promises.js";
import { legacySse } from "../mcp/over/legacySse.js";
import { rpcProblemText } from "../mcp/over/network/problems.js";
import { StrayIds } from "../mcp/over/network/strayIds.js";
import { MCP_CORS_HEADERS, MCP_PATH, mcpEndpoint } from "../mcp/over/streamableHttp/endpoint.js";
import type { EndpointRules } from "../mcp/over/streamableHttp/endpointRequest.js";
import { argumentHeadersOf } from "../mcp/over/streamableHttp/statelessHeaders.js";
import type { StatelessReply, StatelessRules } from "../mcp/over/streamableHttp/statelessPost.js";
import { WebSocketEndpoint } from "../mcp/over/websocket.js";
import { type Metrics, NO_METRICS } from "../observability/telemetry.js";
import { ApiEntry } from "./apiEntry.js";
import { checkEntry, clientSnippet, prepareEntry } from "./clientEntry.js";
import { resolveSettings } from "./context.js";
import { type HttpContext, severalMayCall } from "./httpContext.js";
import { Maintenance, SLOW_READER } from "./maintenance.js";
import { callerOf, Network, SCOPE_WORDS, secretFiles } from "./network.js";
import { openMetrics, Reporting } from "./reporting.js";
import { untilSignalled } from "./shutdown.js";
import { OPEN_PATHS, statusRoutes } from "./statusRoutes.js";

/** Bytes kept of a completed request for a client that lost its last messages. */
const ANSWERED_BYTES = 256 * 1024;
/** The metric labels of access control's refusals. */
const REFUSALS: Readonly<Record<number, string>> = {
  400: "malformed",
  401: "token",
  403: "host, origin or scope",
  404: "no metadata",
  429: "too many wrong tokens",
  503: "issuer unreachable",
};
/** How long file watchers and issuer requests have to end. */
const CLEAN_UP_MS = 1_000;

/** Runs the server on a port until it shuts down. Resolves when the process may exit. */
export async function serveHttp(given: HttpContext): Promise<void> {
  const context = await withSafeEngine(given);
  const { options, env, listen, serverCwd } = context;
  const { codexHome, settings } = resolveSettings(context, { listening: true });
  const loopback = reachOf(listen.host) === "loopback";
  checkEntry(listen);
  checkCeilings(listen, { serverCwd, loopback, secretFiles: secretFiles(listen) });
  const reporting = new Reporting({ env, codexHome, listening: true });
  const { redactor } = reporting;
  const log = reporting.log.target("http");
  const report = (line: string) => reporting.report(line);
  const keepSecret = (token: string) => redactor.learn(token);
  listen.tokens.forEach(keepSecret);
  for (const warning of settings.checkAtStart()) report(warning);
  if (options.engineNotice !== undefined) report(options.engineNotice);
  if (options.engine === "scripted") report("the model is scripted: answers come from the `!` lines of the prompt, not from a real model");

  const http = settings.httpSettings();
  const metrics = http.metrics ? await openMetrics() : NO_METRICS;
  if (listen.showsTokens)
    report("every user of this machine can read --token in the list of processes; CODEX_MCP_TOKEN or --token-file keeps it private");
  const entry = prepareEntry(listen, { codexHome, report });
  const ownConnections = new OwnConnections();
  let leaving = false;
  const bodies = new RequestBodies(http.maxBodyBytes);
  // Opened by the first request, when all of these exist.
  const api: ApiEntry = new ApiEntry({
    bodies,
    agent: () => network.agent(),
    telemetry: () => reporting.telemetry(metrics),
    ready: () => !leaving,
    metrics: () => metrics.render(),
    http,
    examine: context.examine,
    failed: (what, error) => reporting.failed(what, error),
    disconnected: () => metrics.readerDisconnected({ reason: SLOW_READER }),
    loggedOut: (request) => void recheck(request).catch((error: unknown) => reporting.failed("logout", error)),
  });
  const access = await openAccessControl({
    ...listen,
    ...entry,
    ...api.access,
    ownSide: {
      connectsFrom: (address, port) => ownConnections.has(address, port),
      hasProcesses: hasOwnProcesses,
      processes: ownProcesses,
      mayBeOwn: mayBeDescendant,
    },
    openPaths: OPEN_PATHS,
    scopes: SCOPE_WORDS,
    resourcePath: MCP_PATH,
    corsHeaders: MCP_CORS_HEADERS,
    problemText: rpcProblemText,
    report,
    keepSecret,
  });
  const network = new Network({
    context,
    codexHome,
    settings,
    http,
    reporting,
    metrics,
    givenRoots: () => access.givenRoots(),
    consoleAddress: () => api.consoleAddress,
  });
  const rules = endpointRules(network, { http, bodies, loopback, metrics, failed: (what, error) => reporting.failed(what, error) });
  const webSockets = new WebSocketEndpoint({ ...rules, maxMessageBytes: http.maxBodyBytes, lingerMs: http.webSocketLingerMs });
  const open = new OpenRequests({ limit: http.openRequests });
  const recheck = (besides?: IncomingMessage) => open.recheck((request) => access.readmit(request), besides);
  const server = await openHttpServer({
    host: listen.host,
    ports: listen.ports,
    ...(listen.tls ? { tls: loadTls(listen.tls, report) } : {}),
    timeouts: { ...http.arrival, readingMs: http.streams.slowReaderMs },
    access,
    callerOf,
    router: new Router(
      [
        { ...mcpEndpoint(rules), upgrade: (upgrade) => webSockets.upgrade(upgrade) },
        ...statusRoutes({ sessions: network.sessions, ready: () => !leaving, metrics: () => metrics.render() }),
        ...(http.legacySse ? legacySse(rules) : []),
        ...api.mounts,
      ],
      `MCP is at ${MCP_PATH}`,
    ),
    open,
    problemText: rpcProblemText,
    served: (request) => {
      metrics.httpRequestEnded(request);
      log.debug("request ended", { ...request });
    },
    refused: (status) => {
      const reason = REFUSALS[status] ?? "other";
      metrics.httpRequestRefused({ reason });
      log.debug("request refused", { status, reason });
    },
    failed: (what, error) => reporting.failed(what, error),
  });
  const renewal = listen.tls && server.server instanceof TlsServer ? renewTls(server.server, listen.tls, report) : undefined;
  const maintenance = new Maintenance({
    sessions: network.sessions,
    statelessStreams: rules.stateless.streams,
    webSockets,
    losses: network.losses,
    recheck,
    failed: (error) => reporting.failed("maintenance", error),
  });
  maintenance.every(http.streams.keepAliveMs);
  sampleFor(metrics, { network, webSockets, api, reporting });
  network.listensOn({ host: listen.host, port: server.port, names: listen.allowedHosts });
  const origin = `${listen.tls ? "https" : "http"}://${urlHost(listen.host)}:${server.port}`;
  const url = `${origin}${MCP_PATH}`;
  api.listensOn(origin, server.port);
  reporting.announce(`listening on ${url}`);
  const login = api.newLogin();
  if (login) {
    reporting.show(`console at ${login.address}`);
    context.consoleServed?.(login.address);
  }
  reporting.show(clientSnippet(url, { ...entry, seenByUser: process.stderr.isTTY }));

  await untilSignalled(context.exitAtOnce);
  leaving = true;
  log.info(`shutting down: running turns have ${http.shutdownGraceMs / 1_000} s, a second signal ends them at once`, {
    sessions: network.sessions.size,
  });
  server.stopAccepting();
  await endsWithin(http.shutdownGraceMs, network.idle());
  api.close();
  await network.close();
  maintenance.end();
  renewal?.close();
  ownConnections.close();
  webSockets.close();
  await Promise.all([server.close(), endsWithin(CLEAN_UP_MS, access.close())]);
  await reporting.close();
}

async function withSafeEngine(given: HttpContext): Promise<HttpContext> {
  if (given.options.engine !== "codex") return given;
  const { nativeUnlessUsable } = await import("./usableCodex.js");
  const context = await nativeUnlessUsable(given);
  if (context.options.engine !== "codex" || !severalMayCall(context.listen)) return context;
  const { requireHidingCodex } = await import("./codexForCallers.js");
  return requireHidingCodex(context);
}

function endpointRules(
  { sessions, stateless, tools }: Network,
  {
    http,
    bodies,
    loopback,
    failed,
    metrics,
  }: { http: HttpSettings; bodies: RequestBodies; loopback: boolean; metrics: Metrics } & Pick<StatelessRules, "failed">,
): EndpointRules {
  return {
    sessions,
    outbox: { ...http.streams, answeredBytes: ANSWERED_BYTES },
    // Where strangers can reach the server, one of them could plant an id that another client then uses.
    clientsChooseIds: http.clientsChooseIds ?? loopback,
    strayIds: new StrayIds(),
    bodies,
    maxStreamsPerSession: http.streams.perSession,
    stateless: {
      server: stateless,
      argumentHeaders: argumentHeadersOf(tools.listFor(undefined)),
      streams: new Set<StatelessReply>(),
      slowReaderMs: http.streams.slowReaderMs,
      disconnected: () => metrics.readerDisconnected({ reason: SLOW_READER }),
      failed,
    },
  };
}

function sampleFor(
  metrics: Metrics,
  { network, webSockets, api, reporting }: { network: Network; webSockets: WebSocketEndpoint; api: ApiEntry; reporting: Reporting },
): void {
  const streams = () => [...network.sessions.all()].map(({ connection }) => connection.outbox.streams);
  metrics.sample({
    logLinesLost: reporting.linesLost,
    callsWaiting: () => network.turns.waiting,
    streamsOpen: () => streams().reduce((sum, { count }) => sum + count, api.streamsOpen) - webSockets.socketCount,
    webSocketsOpen: () => webSockets.socketCount,
    longestReaderQueue: () => streams().reduce((longest, { longestQueue }) => Math.max(longest, longestQueue), 0),
  });
}

function urlHost(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
