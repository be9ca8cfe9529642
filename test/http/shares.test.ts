import { describe, expect, it } from "vitest";
import { handshake, rpc, SPEC, toolCall } from "../support/http/httpClient.js";
import { type HttpServer, startHttpServer } from "../support/http/httpServer.js";
import { openSocket } from "../support/http/httpSocketClient.js";
import { stateless } from "../support/http/statelessHttp.js";
import { ALICE, BOB, type Headers, threePrincipals } from "../support/http/threePrincipals.js";
import { setStage } from "../support/stage.js";

const LIMIT = 32;

/** Uses one unit of a limited resource until it is disposed of. Rejects if the server refuses. */
type Take = (server: HttpServer, who: Headers) => Promise<Disposable>;

/** Everything that one principal can hold at the same time. */
class Hoard implements Disposable {
  readonly #held: Disposable[] = [];
  refusal = "";

  constructor(
    private readonly server: HttpServer,
    private readonly take: Take,
  ) {}

  get size(): number {
    return this.#held.length;
  }

  async fill(who: Headers): Promise<void> {
    while (this.refusal === "" && this.size <= LIMIT)
      try {
        this.#held.push(await this.take(this.server, who));
      } catch (error) {
        this.refusal = String(error);
      }
  }

  [Symbol.dispose](): void {
    for (const held of this.#held.splice(0)) held[Symbol.dispose]();
  }
}

const STREAMED = { "x-mcp-post-stream": "1" };

const OPEN_REQUESTS: readonly (readonly [string, Take])[] = [
  ["streams", (server, headers) => server.stream({ headers })],
  ["WebSockets", ({ origin }, headers) => openSocket(origin, { headers })],
  ["calls in flight", (server, who) => server.stream({ headers: { ...who, ...STREAMED }, message: toolCall(1, { prompt: "!hang" }) })],
  [
    "subscriptions",
    (server, headers) =>
      server.stream(stateless({ method: "subscriptions/listen", headers, params: { notifications: { toolsListChanged: true } } })),
  ],
];

describe("one principal uses its whole share, and another is served at once:", () => {
  it("streams, WebSockets, calls in flight, subscriptions", async () => {
    await using stage = await setStage();
    const http = `max_open_requests = ${LIMIT}\nshutdown_grace_seconds = 0`;
    await using server = await startHttpServer({ stage, args: await threePrincipals(stage), http });
    const ping = async (headers: Headers) => (await server.ask({ headers, message: rpc(1, "ping") })).status;
    for (const [what, take] of OPEN_REQUESTS) {
      using ofAlice = new Hoard(server, take);
      await ofAlice.fill(ALICE);
      expect({ what, count: ofAlice.size, refusal: ofAlice.refusal }).toEqual({
        what,
        count: LIMIT,
        refusal: expect.stringContaining("429"),
      });
      using _ofBob = await take(server, BOB);
      expect([what, await ping(BOB), await ping(ALICE)]).toEqual([what, 200, 429]);
      ofAlice[Symbol.dispose]();
      // The server processes the ends one after the other.
      while ((await ping(ALICE)) !== 200);
    }
  });

  it("sessions", async () => {
    await using stage = await setStage();
    await using server = await startHttpServer({ stage, args: await threePrincipals(stage), http: `max_sessions = ${LIMIT}` });
    const greet = async (who: Headers) => (await server.ask({ headers: { ...who, ...SPEC }, message: handshake(0) })).status;
    const answers = [];
    for (let at = 0; at < LIMIT + 2; at++) answers.push(await greet(ALICE));
    expect(answers.filter((status) => status === 200)).toHaveLength(LIMIT);
    expect(answers.slice(LIMIT)).toEqual([503, 503]);
    expect([await greet(BOB), await greet(BOB), await greet(ALICE)]).toEqual([200, 200, 503]);
  });
});

it("the requests in flight of a session are limited", async () => {
  await using server = await startHttpServer({ http: "requests_per_session = 2\nshutdown_grace_seconds = 0" });
  using first = await server.stream({ headers: STREAMED, message: toolCall(1, { prompt: "!hang" }) });
  const own = { "mcp-session-id": first.session ?? "" };
  using _second = await server.stream({ headers: { ...own, ...STREAMED }, message: toolCall(2, { prompt: "!hang" }) });
  expect(await server.ask({ headers: own, message: toolCall(3, { prompt: "!hang" }) })).toMatchObject({
    status: 429,
    headers: { "retry-after": "5" },
    body: { id: 3, error: { code: -32000, message: "2 requests are in flight; wait for an answer" } },
  });
});
