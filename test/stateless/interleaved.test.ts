import { expect, it } from "vitest";
import { claimMeta } from "../support/clients/statelessClient.js";
import { rpc } from "../support/http/httpClient.js";
import { startHttpServer } from "../support/http/httpServer.js";
import { openSocket, type SocketClient, unnumbered } from "../support/http/httpSocketClient.js";
import { stateless } from "../support/http/statelessHttp.js";
import { startServer } from "../support/processes/mcpServer.js";
import { isRecord, valueAt } from "../support/scenarios/scenario.js";

const CALLS = 1_000;
const AT_ONCE = 50;
const WHY = "Failed to parse configuration for Codex tool: missing field `prompt`";

type Json = Readonly<Record<string, unknown>>;

/** Every twentieth call runs a turn; the others fail before they start one. */
function paramsOf(at: number): Json {
  const args = at % 20 === 0 ? { prompt: `!say ${at}` } : {};
  return { name: "codex", arguments: args, ...(isModern(at) ? { _meta: claimMeta() } : {}) };
}

function isModern(at: number): boolean {
  return at % 2 === 1 || at % 40 === 0;
}

/** The parts of an answer that differ between the eras. A modern result names its type and its server. */
function dialectOf(answer: unknown): Json {
  const result = valueAt(answer, "result");
  const { resultType, _meta } = isRecord(result) ? result : {};
  return {
    id: valueAt(answer, "id"),
    text: valueAt(answer, "result.content.0.text"),
    resultType,
    named: isRecord(_meta) && "io.modelcontextprotocol/serverInfo" in _meta,
  };
}

function expected(at: number): Json {
  return {
    id: at,
    text: at % 20 === 0 ? String(at) : WHY,
    resultType: isModern(at) ? "complete" : undefined,
    named: isModern(at),
  };
}

/** Makes all calls, several in parallel, and returns their answers. */
async function callAll(call: (at: number) => Promise<unknown>): Promise<Json[]> {
  const answers: Json[] = [];
  let next = 0;
  const caller = async () => {
    for (let at = next++; at < CALLS; at = next++) answers[at] = dialectOf(await call(at));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, caller));
  return answers;
}

const EXPECTED = Array.from({ length: CALLS }, (_, at) => expected(at));

it("a thousand calls of both eras on one pipe are each answered in their own dialect", async () => {
  await using server = await startServer();
  await server.initialize("2025-06-18");
  const answers = await callAll((at) => {
    // Calls have ids of their own, so that none is the handshake's.
    server.send(rpc(`c${at}`, "tools/call", paramsOf(at)));
    return server.answer(`c${at}`).then((answer) => ({ ...answer, id: at }));
  });
  expect(answers).toEqual(EXPECTED);
});

it("a thousand calls of both eras on one address are each answered in their own dialect", async () => {
  await using server = await startHttpServer();
  const answers = await callAll(async (at) => {
    const { _meta, ...params } = paramsOf(at);
    const question = isModern(at) ? stateless({ method: "tools/call", id: at, params }) : { message: rpc(at, "tools/call", params) };
    return (await server.ask(question)).body;
  });
  expect(answers).toEqual(EXPECTED);
});

it("a thousand calls of both eras on one WebSocket are each answered in their own dialect", async () => {
  await using server = await startHttpServer();
  using socket: SocketClient = await openSocket(server.origin);
  const answers = await callAll(async (at) => {
    socket.send(rpc(at, "tools/call", paramsOf(at)));
    return unnumbered(await socket.answerTo(at));
  });
  expect(answers).toEqual(EXPECTED);
});
