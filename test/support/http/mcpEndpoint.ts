import { callersInside } from "../../../src/agent/caller.js";
import { openAccessControl } from "../../../src/http/accessControl.js";
import { RequestBodies } from "../../../src/http/body.js";
import { OpenRequests } from "../../../src/http/connections.js";
import { Router } from "../../../src/http/router.js";
import { type HttpServer, openHttpServer } from "../../../src/http/server.js";
import { legacySse } from "../../../src/mcp/over/legacySse.js";
import type { HttpConnection, HttpSessions } from "../../../src/mcp/over/network/httpSession.js";
import { rpcProblemText } from "../../../src/mcp/over/network/problems.js";
import { StrayIds } from "../../../src/mcp/over/network/strayIds.js";
import { mcpEndpoint } from "../../../src/mcp/over/streamableHttp/endpoint.js";
import type { EndpointRules } from "../../../src/mcp/over/streamableHttp/endpointRequest.js";
import type { StatelessRules } from "../../../src/mcp/over/streamableHttp/statelessPost.js";
import { WebSocketEndpoint } from "../../../src/mcp/over/websocket.js";
import { SESSION_METHODS, Session, type SessionMethod } from "../../../src/mcp/sessions/session.js";
import { SessionRegistry } from "../../../src/mcp/sessions/sessionRegistry.js";
import type { StatelessMethod } from "../../../src/mcp/stateless/request.js";
import { StatelessServer } from "../../../src/mcp/stateless/server.js";
import { Tools } from "../../../src/mcp/tools/tools.js";
import { callerOf, SCOPE_WORDS } from "../../../src/server/network.js";

const MIB = 1024 * 1024;
const HOUR_MS = 3_600_000;

export interface EndpointOptions {
  /** The methods of sessions, besides MCP's own. */
  readonly methods?: Readonly<Record<string, SessionMethod>>;
  /** The methods of the era without sessions. */
  readonly statelessMethods?: Readonly<Record<string, StatelessMethod>>;
  readonly stateless?: Partial<StatelessRules>;
  readonly tools?: Tools;
  readonly rules?: Partial<EndpointRules>;
  /** How many requests may be open at the same time. */
  readonly openRequests?: number;
  /** How many requests of one session may be in flight. */
  readonly requestsInFlight?: number;
}

/** MCP over HTTP and WebSocket in this process: the real server, access control and sessions, with methods of the test. */
export interface McpEndpoint extends AsyncDisposable {
  readonly origin: string;
  readonly http: HttpServer;
  readonly sessions: HttpSessions;
  /** Unexpected errors, as they were reported. */
  readonly failures: string[];
  /** Method, route and status of every completed request. */
  readonly served: string[];
}

export async function startEndpoint(options: EndpointOptions = {}): Promise<McpEndpoint> {
  const { methods = {}, statelessMethods = {}, tools = NO_TOOLS, openRequests = 1_000, requestsInFlight } = options;
  const failures: string[] = [];
  const served: string[] = [];
  const failed = (what: string, error: unknown) => {
    failures.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
    return "it failed";
  };
  const sessions: HttpSessions = new SessionRegistry<HttpConnection>({
    limits: { attendedMs: 60_000, vanishedMs: 60_000, idleMs: HOUR_MS, sessions: 1_000 },
    openSession: (caller, { outbox }) =>
      new Session(outbox, {
        caller,
        methods: { ...SESSION_METHODS, ...methods },
        engine: "scripted",
        env: {},
        tools,
        welcomed: () => {},
        report: () => {},
        failed,
        requestsInFlight,
      }),
    ended: () => {},
  });
  const access = await openAccessControl({
    host: "127.0.0.1",
    tellsUsers: true,
    scopes: SCOPE_WORDS,
    resourcePath: "/mcp",
    problemText: rpcProblemText,
    report: () => {},
  });
  const rules: EndpointRules = {
    sessions,
    outbox: { queueLength: 128, lagPolicy: "disconnect", slowReaderMs: 10_000, replayBytes: 8 * MIB, answeredBytes: MIB },
    clientsChooseIds: true,
    strayIds: new StrayIds(),
    bodies: new RequestBodies(MIB),
    maxStreamsPerSession: 32,
    stateless: {
      server: new StatelessServer({ methods: statelessMethods }),
      argumentHeaders: new Map(),
      streams: new Set(),
      slowReaderMs: 10_000,
      disconnected: () => {},
      failed,
      ...options.stateless,
    },
    ...options.rules,
  };
  const webSockets = new WebSocketEndpoint({ ...rules, maxMessageBytes: MIB, lingerMs: 60_000 });
  const http = await openHttpServer({
    host: "127.0.0.1",
    ports: [0],
    timeouts: { headersMs: 10_000, requestMs: 20_000, readingMs: 10_000 },
    access,
    callerOf,
    router: new Router(
      [{ ...mcpEndpoint(rules), upgrade: (upgrade) => webSockets.upgrade(upgrade) }, ...legacySse(rules)],
      "MCP is at /mcp",
    ),
    open: new OpenRequests({ limit: openRequests }),
    problemText: rpcProblemText,
    served: ({ method, route, status }) => served.push(`${method} ${route} ${status}`),
    refused: () => {},
    failed,
  });
  return {
    origin: `http://127.0.0.1:${http.port}`,
    http,
    sessions,
    failures,
    served,
    async [Symbol.asyncDispose]() {
      webSockets.close();
      await sessions.close("the test is over");
      await Promise.all([http.close(), access.close()]);
    },
  };
}

const NO_TOOLS = new Tools({ tools: [], objection: callersInside, open: () => Promise.reject(new Error("there is no agent")) });
