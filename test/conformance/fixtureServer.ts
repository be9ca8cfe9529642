import type { ServerResponse } from "node:http";
import { callersInside } from "../../src/agent/caller.js";
import { MCP_PATH } from "../../src/mcp/over/streamableHttp/endpoint.js";
import { argumentHeadersOf } from "../../src/mcp/over/streamableHttp/statelessHeaders.js";
import { SESSION_METHODS, type SessionMethod } from "../../src/mcp/sessions/session.js";
import { Tools } from "../../src/mcp/tools/tools.js";
import { startEndpoint } from "../support/http/mcpEndpoint.js";
import { tempHome } from "../support/threads/rollouts.js";
import { callFixture, FIXTURE_METHODS, FIXTURE_TOOLS } from "./fixtureTools.js";
import { STATELESS_FIXTURE_TOOLS, StatelessFixtures } from "./statelessFixtures.js";

const PLAIN = { events: "none", progress: true, logMessages: "on-request", results: "recorded", turnsOutliveCalls: false } as const;

export interface FixtureServer extends AsyncDisposable {
  readonly url: string;
}

/** The server's own transport, sessions and methods, with the suite's tools in place of the agent. */
export async function openFixtureServer(): Promise<FixtureServer> {
  const streams = new Set<ServerResponse>();
  const home = tempHome();
  const { server: stateless } = new StatelessFixtures(home.path);
  const endpoint = await startEndpoint({
    methods: withFixtures(() => endAll(streams)),
    tools: FIXTURES_SHOWN,
    stateless: { server: stateless, argumentHeaders: argumentHeadersOf(STATELESS_FIXTURE_TOOLS) },
  });
  endpoint.http.server.prependListener("request", (_request, response) => {
    streams.add(response);
    response.once("close", () => streams.delete(response));
  });
  return {
    url: `${endpoint.origin}${MCP_PATH}`,
    async [Symbol.asyncDispose]() {
      stateless.leave();
      await endpoint[Symbol.asyncDispose]();
      for (const failure of endpoint.failures) console.error(failure);
      home[Symbol.dispose]();
    },
  };
}

/** Lists the suite's tools; a method of the fixtures serves their calls. */
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
