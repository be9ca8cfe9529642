import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Victim } from "../attack/victim.js";
import type { SeededRandom } from "../support/patch/random.js";
import { checkHealth, describeFuzz } from "./fuzz.js";
import { bentText, strangeBytes, strangeValue } from "./invent.js";

const CHECK_EVERY = 25;
const PATIENCE_MS = 20_000;
const HELLO = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "f", version: "1" } },
};

function frame({ opcode, payload, masked = true, final = true, length, reserved = 0 }: FrameParts): Buffer {
  const claimed = length ?? payload.length;
  const head = [(final ? 0x80 : 0) | (reserved << 4) | opcode];
  const mask = masked ? 0x80 : 0;
  const size =
    claimed < 126
      ? [mask | claimed]
      : claimed < 65_536
        ? [mask | 126, claimed >> 8, claimed & 255]
        : [mask | 127, 0, 0, 0, 0, ...wordOf(claimed)];
  const key = masked ? [1, 2, 3, 4] : [];
  const body = masked ? payload.map((byte, at) => byte ^ (key[at % 4] ?? 0)) : payload;
  return Buffer.concat([Buffer.from([...head, ...size, ...key]), Buffer.from(body)]);
}

interface FrameParts {
  readonly opcode: number;
  readonly payload: Buffer;
  readonly masked?: boolean;
  readonly final?: boolean;
  /** The length in the frame's header, if it is not the real one. */
  readonly length?: number;
  readonly reserved?: number;
}

function wordOf(value: number): number[] {
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 255);
}

function inventFrame(random: SeededRandom): Buffer {
  const message =
    JSON.stringify(random.chance(0.5) ? { jsonrpc: "2.0", id: 1, method: "ping", params: strangeValue(random) } : strangeValue(random)) ??
    "";
  const payload = random.pick([
    () => Buffer.from(message),
    () => Buffer.from(bentText(random, message)),
    () => strangeBytes(random, 300),
    () => Buffer.from([0xff, 0xfe, 0xc0, 0x80]),
    () => Buffer.alloc(0),
  ])();
  return frame({
    opcode: random.pick([1, 1, 1, 2, 0, 8, 9, 10, 3, 11, 15]),
    payload,
    masked: random.chance(0.9),
    final: random.chance(0.8),
    reserved: random.chance(0.9) ? 0 : random.below(8),
    ...(random.chance(0.1) && { length: random.pick([0, 1, 125, 126, 65_535, 65_536, 2 ** 31]) }),
  });
}

async function upgraded(victim: Victim): Promise<Socket> {
  const socket = connect({ port: Number(new URL(victim.url).port), host: "127.0.0.1" });
  socket.on("error", () => {});
  const head = [
    "GET /mcp HTTP/1.1",
    "Host: 127.0.0.1",
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Protocol: mcp",
    `Authorization: Bearer ${victim.ground.secret("token of alice")}`,
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  await once(socket, "data", { signal: AbortSignal.timeout(PATIENCE_MS) });
  return socket;
}

/** Sends frames on a new socket and waits for the server to close it. */
async function play(victim: Victim, random: SeededRandom): Promise<void> {
  const socket = await upgraded(victim);
  const closed = once(socket, "close", { signal: AbortSignal.timeout(PATIENCE_MS) });
  socket.resume();
  if (random.chance(0.7)) socket.write(frame({ opcode: 1, payload: Buffer.from(JSON.stringify(HELLO)) }));
  for (const bytes of random.several(1, 5, () => inventFrame(random))) socket.write(bytes);
  socket.end(frame({ opcode: 8, payload: Buffer.from([3, 232]) }));
  await closed;
}

describeFuzz("WebSocket frames", {
  budget: { quick: 100, all: 1_500 },
  play: async (ground, rounds) => {
    await using victim = await Victim.onPort(ground, { engine: "scripted" });
    let number = 0;
    for (const random of rounds) {
      await play(victim, random);
      if (++number % CHECK_EVERY === 0) await checkHealth(victim);
    }
    await checkHealth(victim);
  },
});
