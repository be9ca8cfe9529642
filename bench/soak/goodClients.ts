import { once } from "node:events";
import { WebSocket } from "ws";
import { textOf, type Visit } from "./visit.js";

/** Well-behaved clients. They must get their answers, whatever the others do. */
export const GOOD_CLIENTS = { talk, readEverything, runCommand, talkOverWebSocket, resumeWebSocket };

async function talk(visit: Visit): Promise<void> {
  const session = await visit.openSession();
  const stream = visit.begin("GET", { session });
  (await visit.answerOf(stream)).resume();
  expectText("a turn", await textOf(await visit.answerOf(visit.call("!say hello there", session))), "hello there");
  expectText("a ping", (await visit.post({ jsonrpc: "2.0", id: 7, method: "ping" }, session)).text, '"result":{}');
  await visit.end(session);
}

const DELTAS = 300;

async function readEverything(visit: Visit): Promise<void> {
  const session = await visit.openSession();
  const text = await textOf(await visit.answerOf(visit.call(`!tokens ${DELTAS}`, session)));
  const deltas = text.split('"type":"agent_message_content_delta"').length - 1;
  if (deltas !== DELTAS) throw new Error(`${deltas} of ${DELTAS} deltas arrived`);
  await visit.end(session);
}

async function runCommand(visit: Visit): Promise<void> {
  const session = await visit.openSession();
  expectText("a command", await textOf(await visit.answerOf(visit.call("!shell echo soaked\n!say ran", session))), '"text":"ran"');
  await visit.end(session);
}

async function talkOverWebSocket(visit: Visit): Promise<void> {
  await using socket = await openWebSocket(visit);
  socket.send({ jsonrpc: "2.0", id: 1, method: "ping" });
  expectText("a ping over WebSocket", await socket.next(), '"id":1');
}

/** Reconnects for the events that it missed. */
async function resumeWebSocket(visit: Visit): Promise<void> {
  let sessionId: string;
  {
    await using first = await openWebSocket(visit);
    sessionId = first.sessionId;
    const params = { name: "codex", arguments: { prompt: "!slow 20 10", sandbox: "read-only" } };
    first.send({ jsonrpc: "2.0", id: "call", method: "tools/call", params });
    await first.next();
  }
  await using again = await openWebSocket(visit, { "mcp-session-id": sessionId, "last-event-id": "1" });
  let said = "";
  while (!said.includes('"id":"call","jsonrpc"')) said = await again.next();
}

interface Talk extends AsyncDisposable {
  readonly sessionId: string;
  send(message: unknown): void;
  next(): Promise<string>;
}

async function openWebSocket(visit: Visit, headers: Readonly<Record<string, string>> = {}): Promise<Talk> {
  const socket = new WebSocket(visit.url, "mcp", { headers, handshakeTimeout: 30_000 });
  const said: string[] = [];
  let sessionId = "";
  socket.on("upgrade", ({ headers: answered }) => {
    sessionId = String(answered["mcp-session-id"]);
  });
  socket.on("message", (frame: Buffer) => said.push(frame.toString()));
  await once(socket, "open");
  return {
    sessionId,
    send: (message) => socket.send(JSON.stringify(message)),
    next: async () => {
      while (said.length === 0) await once(socket, "message", { signal: AbortSignal.timeout(30_000) });
      return said.shift() ?? "";
    },
    // Without a close frame, as when a connection breaks.
    [Symbol.asyncDispose]: async () => socket.terminate(),
  };
}

function expectText(what: string, text: string, part: string): void {
  if (!text.includes(part)) throw new Error(`${what} was answered with ${text.slice(-300)}`);
}
