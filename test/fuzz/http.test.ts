import { once } from "node:events";
import { connect } from "node:net";
import { Victim } from "../attack/victim.js";
import { claimMeta } from "../support/clients/statelessClient.js";
import type { SeededRandom } from "../support/patch/random.js";
import { checkHealth, describeFuzz } from "./fuzz.js";
import { bentText, strangeBytes, strangeText, strangeValue } from "./invent.js";

const CHECK_EVERY = 50;
/** The longest time in which a server may answer or close a bad connection. */
const PATIENCE_MS = 20_000;

const HEADERS = [
  "Host: 127.0.0.1",
  "Host: localhost",
  "Content-Type: application/json",
  "Accept: application/json",
  "MCP-Protocol-Version: 2025-11-25",
  "MCP-Protocol-Version: 2026-07-28",
  "Mcp-Method: tools/list",
  "Mcp-Name: codex",
  "Mcp-Session-Id: one",
  "Last-Event-ID: 1-1",
  "Authorization: Bearer x",
  "Origin: http://localhost",
  "Transfer-Encoding: chunked",
  "Content-Encoding: gzip",
  "Expect: 100-continue",
  "Upgrade: websocket",
  "Connection: Upgrade",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  "Sec-WebSocket-Version: 13",
  "Forwarded: for=1.2.3.4",
  "X-Forwarded-For: 1.2.3.4",
  "Cookie: a=b",
  "Range: bytes=0-1",
] as const;
const METHODS = ["GET", "POST", "DELETE", "OPTIONS", "HEAD", "PUT", "PATCH", "TRACE", "CONNECT", "get", "G ET"] as const;
const PATHS = [
  "/mcp",
  "/",
  "/sse",
  "/messages",
  "/healthz",
  "/readyz",
  "/sessions",
  "/metrics",
  "/mcp?x=y",
  "*",
  "http://127.0.0.1/mcp",
  "/.well-known/oauth-protected-resource",
] as const;
const MESSAGES = [
  { jsonrpc: "2.0", id: 1, method: "ping" },
  { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: claimMeta() } },
  {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "f", version: "1" } },
  },
] as const;

function inventRequest(random: SeededRandom): Buffer {
  const body = random.chance(0.5)
    ? JSON.stringify(random.pick(MESSAGES))
    : random.chance(0.5)
      ? JSON.stringify(strangeValue(random))
      : strangeText(random);
  const length = random.chance(0.8) ? `Content-Length: ${Buffer.byteLength(body)}` : `Content-Length: ${strangeText(random)}`;
  const headers = random.several(0, 8, () => (random.chance(0.8) ? random.pick(HEADERS) : bentText(random, random.pick(HEADERS))));
  const path = random.chance(0.8) ? random.pick(PATHS) : `/${strangeText(random)}`;
  const head = [`${random.pick(METHODS)} ${path} HTTP/1.1`, "Host: 127.0.0.1", ...headers, length, "", ""].join("\r\n");
  const whole = Buffer.from(head + body, random.chance(0.5) ? "utf8" : "latin1");
  return random.chance(0.1) ? Buffer.concat([whole.subarray(0, random.below(whole.length)), strangeBytes(random, 100)]) : whole;
}

/** Sends the bytes and waits for an answer or the end of the connection; fails if neither comes. */
async function say(port: number, bytes: Buffer): Promise<void> {
  const socket = connect({ port, host: "127.0.0.1" });
  socket.on("error", () => {});
  const closed = once(socket, "close");
  const heard = once(socket, "data");
  socket.end(bytes);
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const late = new Promise<never>((_, reject) =>
    signal.addEventListener("abort", () => reject(new Error(`No answer and no close for ${JSON.stringify(bytes.toString("latin1"))}`))),
  );
  try {
    await Promise.race([closed, heard.catch(() => closed), late]);
  } finally {
    socket.destroy();
  }
}

describeFuzz("HTTP requests", {
  budget: { quick: 200, all: 3_000 },
  play: async (ground, rounds) => {
    await using victim = await Victim.onPort(ground, { engine: "scripted" });
    await play(victim, rounds);
    await checkHealth(victim);
  },
});

async function play(victim: Victim, rounds: Iterable<SeededRandom>): Promise<void> {
  const port = Number(new URL(victim.url).port);
  const authorization = `Authorization: Bearer ${victim.ground.secret("token of alice")}\r\n`;
  let number = 0;
  for (const random of rounds) {
    const bytes = inventRequest(random);
    const known = random.chance(0.5);
    await say(port, known ? withHeader(bytes, authorization) : bytes);
    if (++number % CHECK_EVERY === 0) await checkHealth(victim);
  }
}

/** Inserts the header after the first line. */
function withHeader(bytes: Buffer, header: string): Buffer {
  const end = bytes.indexOf("\r\n") + 2;
  return end < 2 ? bytes : Buffer.concat([bytes.subarray(0, end), Buffer.from(header), bytes.subarray(end)]);
}
