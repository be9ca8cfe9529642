import { randomFillSync } from "node:crypto";

/** A thread's id: a UUID, version 7 when made here, so that ids sort by age. */
export type ThreadId = string & { readonly brand: "ThreadId" };

/** The id in a turn's events: for a thread's first turn the request id of its call, then "0", "1", … (Codex calls it submission id). */
export type TurnId = string & { readonly brand: "TurnId" };

/** A turn's own id, which no other turn of any thread has: a version 7 UUID. */
export type TurnKey = string & { readonly brand: "TurnKey" };

export function newTurnKey(): TurnKey {
  return uuidV7(Date.now()) as TurnKey;
}

export function newThreadId(): ThreadId {
  return uuidV7(Date.now()) as ThreadId;
}

/** Takes text that was already checked to be a UUID (see `parseUuid`). */
export function threadIdOf(uuid: string): ThreadId {
  return uuid as ThreadId;
}

export function turnIdOf(text: string): TurnId {
  return text as TurnId;
}

/** The creation time in a version 7 UUID, in milliseconds; undefined for other versions. */
export function timeOfUuid(uuid: string): number | undefined {
  return uuid[14] === "7" ? Number.parseInt(uuid.slice(0, 8) + uuid.slice(9, 13), 16) : undefined;
}

let lastMs = 0;
let sequence = 0;

// Ordered within a process: a 12-bit counter follows the milliseconds; on overflow the next millisecond is used.
function uuidV7(nowMs: number): string {
  if (nowMs > lastMs) {
    lastMs = nowMs;
    sequence = Math.floor(Math.random() * 0x400);
  } else if (++sequence > 0xfff) {
    lastMs++;
    sequence = 0;
  }
  const time = lastMs.toString(16).padStart(12, "0");
  const random = randomHex();
  return `${time.slice(0, 8)}-${time.slice(8)}-7${sequence.toString(16).padStart(3, "0")}-${random.slice(0, 4)}-${random.slice(4)}`;
}

// Random bytes are drawn for many ids together, and each id takes eight of them.
const pool = Buffer.alloc(1024);
let drawn = pool.length;

/** 16 digits; the first two bits are those of a UUID. */
function randomHex(): string {
  if (drawn === pool.length) {
    randomFillSync(pool);
    drawn = 0;
  }
  const from = drawn;
  drawn += 8;
  pool[from] = ((pool[from] ?? 0) & 0x3f) | 0x80;
  return pool.toString("hex", from, drawn);
}
