import { once } from "node:events";
import { WebSocket } from "ws";
import { textOf, type Visit } from "./visit.js";

/** Clients that die, block or send invalid data. They need no answer, but must leave nothing behind. */
export const BAD_CLIENTS = {
  dieMidTurn,
  endSessionMidTurn,
  endSessionMidCommand,
  cancel,
  neverRead,
  sendHalfARequest,
  sendHalfAHead,
  sendNonsense,
  storm,
  openManySessions,
  dropWebSocket,
};

const STORM = 20;
const CROWD = 15;
const LONG_ANSWER = "!tokens 20000";
const SLOW_ANSWER = "!slow 60 20";

async function dieMidTurn(visit: Visit): Promise<void> {
  const call = visit.call(SLOW_ANSWER, await visit.openSession());
  await visit.answerOf(call);
  await visit.linger(200);
}

async function endSessionMidTurn(visit: Visit): Promise<void> {
  const session = await visit.openSession();
  const answered = visit.answerOf(visit.call("!hang", session));
  const end = async () => {
    await visit.linger(300);
    await visit.end(session);
  };
  await Promise.all([answered, end()]);
}

async function endSessionMidCommand(visit: Visit): Promise<void> {
  const session = await visit.openSession();
  const call = visit.call("!shell sleep 300", session);
  (await visit.answerOf(call)).resume();
  await visit.linger(300);
  await visit.end(session);
}

async function cancel(visit: Visit): Promise<void> {
  const session = await visit.openSession();
  const answered = visit.answerOf(visit.call("!hang", session));
  const withdraw = async () => {
    await visit.linger(200);
    await visit.post({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "call" } }, session);
  };
  const [response] = await Promise.all([answered, withdraw()]);
  await textOf(response);
}

async function neverRead(visit: Visit): Promise<void> {
  const response = await visit.answerOf(visit.call(LONG_ANSWER, await visit.openSession()));
  response.pause();
  await visit.linger(2_000);
}

async function sendHalfARequest(visit: Visit): Promise<void> {
  const socket = await visit.connect();
  socket.write(`POST /mcp HTTP/1.1\r\nhost: ${visit.url.host}\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"json`);
  await visit.linger(500);
}

/** The server has to time out by itself. */
async function sendHalfAHead(visit: Visit): Promise<void> {
  const socket = await visit.connect();
  const closed = once(socket, "close", { signal: AbortSignal.timeout(30_000) });
  socket.resume().write("POST /mcp HTTP/1.1\r\nhost: 127");
  await closed;
}

async function sendNonsense(visit: Visit): Promise<void> {
  const bodies = ["", "{", "[]", "null", "[[[[", '{"jsonrpc":"2.0","id":{},"method":"ping"}', `{"x":"${"y".repeat(100_000)}"}`];
  for (const body of bodies) {
    const response = await visit.answerOf(visit.begin("POST", { body }));
    response.resume();
    if ((response.statusCode ?? 0) >= 500) throw new Error(`${body.slice(0, 50)} returned ${response.statusCode}`);
  }
  const socket = await visit.connect();
  socket.write("\0\u0001 this is not HTTP\r\n\r\n");
  await visit.linger(100);
}

async function storm(visit: Visit): Promise<void> {
  const session = await visit.openSession();
  for (let n = 0; n < STORM; n++) visit.begin("GET", { session });
  await visit.linger(300);
}

async function openManySessions(visit: Visit): Promise<void> {
  await Promise.all(Array.from({ length: CROWD }, () => visit.openSession()));
}

async function dropWebSocket(visit: Visit): Promise<void> {
  const socket = new WebSocket(visit.url, "mcp", { handshakeTimeout: 30_000 });
  try {
    await once(socket, "open");
    const params = { name: "codex", arguments: { prompt: SLOW_ANSWER, sandbox: "read-only" } };
    socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }));
    socket.send("nonsense");
    await visit.linger(300);
  } finally {
    socket.terminate();
  }
}
