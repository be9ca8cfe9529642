import type { ServerResponse } from "node:http";
import { callersInside } from "../../src/agent/caller.js";
import { openAccessControl } from "../../src/http/accessControl.js";
import { OpenRequests } from "../../src/http/connections.js";
import { Router } from "../../src/http/router.js";
import { openHttpServer } from "../../src/http/server.js";
import type { HttpConnection } from "../../src/mcp/over/network/httpSession.js";
import { rpcProblemText } from "../../src/mcp/over/network/problems.js";
import { StrayIds } from "../../src/mcp/over/network/strayIds.js";
import { MCP_PATH, mcpEndpoint } from "../../src/mcp/over/streamableHttp/endpoint.js";
import { argumentHeadersOf } from "../../src/mcp/over/streamableHttp/statelessHeaders.js";
import { SESSION_METHODS, Session, type SessionMethod } from "../../src/mcp/sessions/session.js";
import { SessionRegistry } from "../../src/mcp/sessions/sessionRegistry.js";
import { Tools } from "../../src/mcp/tools/tools.js";
import { callerOf, SCOPE_WORDS } from "../../src/server/network.js";
import { tempHome } from "../support/threads/rollouts.js";
import { callFixture, FIXTURE_METHODS, FIXTURE_TOOLS } from "./fixtureTools.js";
import { STATELESS_FIXTURE_TOOLS, StatelessFixtures } from "./statelessFixtures.js";

const MIB = 1024 * 1024;
const HOUR_MS = 3_600_000;
const PLAIN = { events: "none", progress: true, logMessages: "on-request", results: "recorded", turnsOutliveCalls: false } as const;

export interface FixtureServer extends AsyncDisposable {
  readonly url: string;
}

/** The server's own transport, sessions and methods, with the suite's tools in place of the agent. */
export async function openFixtureServer(): Promise<FixtureServer> {
  const streams = new Set<ServerResponse>();
  const home = tempHome();
  const stateless = new StatelessFixtures(home.path);
  const sessions = new SessionRegistry<HttpConnection>({
    limits: { attendedMs: 60_000, vanishedMs: 60_000, idleMs: HOUR_MS, sessions: 1_000 },
    openSession: (caller, connection) =>
      new Session(connection.outbox, {
        caller,
        methods: withFixtures(() => endAll(streams)),
        engine: "scripted",
        env: {},
        tools: FIXTURES_SHOWN,
        welcomed: () => {},
        report: () => {},
      }),
    ended: () => {},
  });
  const access = await openAccessControl({
    host: "127.0.0.1",
    tellsUsers: true,
    scopes: SCOPE_WORDS,
    resourcePath: MCP_PATH,
    problemText: rpcProblemText,
    report: () => {},
  });
  const endpoint = mcpEndpoint({
    sessions,
    outbox: { queueLength: 128, lagPolicy: "disconnect", slowReaderMs: 10_000, replayBytes: 8 * MIB, answeredBytes: MIB },
    clientsChooseIds: true,
    strayIds: new StrayIds(),
    maxBodyBytes: MIB,
    maxStreamsPerSession: 32,
    stateless: {
      server: stateless.door,
      argumentHeaders: argumentHeadersOf(STATELESS_FIXTURE_TOOLS),
      streams: new Set(),
      slowReaderMs: 10_000,
      disconnected: () => {},
      failed,
    },
  });
  const http = await openHttpServer({
    host: "127.0.0.1",
    ports: [0],
    timeouts: { headersMs: 10_000, requestMs: 20_000, readingMs: 10_000 },
    access,
    callerOf,
    router: new Router([endpoint], "MCP is elsewhere"),
    open: new OpenRequests({ limit: 1_000 }),
    problemText: rpcProblemText,
    served: () => {},
    refused: () => {},
    failed,
  });
  http.server.prependListener("request", (_request, response) => {
    streams.add(response);
    response.once("close", () => streams.delete(response));
  });
  return {
    url: `http://127.0.0.1:${http.port}${MCP_PATH}`,
    async [Symbol.asyncDispose]() {
      stateless.door.leave();
      await sessions.close("the test is over");
      await Promise.all([http.close(), access.close()]);
      home[Symbol.dispose]();
    },
  };
}

function failed(what: string, error: unknown): string {
  console.error(what, error);
  return "it failed";
}

/** Shows the suite's tools; what they do is a method of the fixtures. */
const FIXTURES_SHOWN = new Tools({
  tools: FIXTURE_TOOLS.map((declaration) => ({ declaration, sets: [], servedInside: false, load: noAgent, presentation: PLAIN })),
  objection: callersInside,
  open: noAgent,
});

function noAgent(): Promise<never> {
  return Promise.reject(new Error("there is no agent"));
}

function withFixtures(endStreams: () => void): Readonly<Record<string, SessionMethod>> {
  const fixture: SessionMethod = (session, request) =>
    callFixture({ session, request, endStreams }) ?? SESSION_METHODS[request.method]?.(session, request);
  return { ...SESSION_METHODS, ...Object.fromEntries(FIXTURE_METHODS.map((method) => [method, fixture])) };
}

function endAll(responses: ReadonlySet<ServerResponse>): void {
  for (const response of responses) if (response.headersSent) response.end();
}
