import { type FileHandle, open } from "node:fs/promises";
import { isIPv4, isIPv6 } from "node:net";
import { endianness } from "node:os";

export interface End {
  readonly address: string;
  readonly port: number;
}

/** A connection from the client's point of view. */
export interface ClientView {
  readonly client: End;
  readonly server: End;
}

export type ClientSocket =
  | { readonly kind: "open"; readonly uid: number; readonly inode: string }
  /** The process has closed the socket, completely or for writing. The user that the kernel reports is no longer valid. */
  | { readonly kind: "closed" }
  /** The connection was not opened on this machine, or not in this network namespace. */
  | { readonly kind: "absent" }
  | { readonly kind: "unknown" };

/** The kernel returns one page per read, whatever the buffer size. */
const CHUNK_BYTES = 64 * 1024;
/** Several hundred thousand connections per file. On a machine with more, the lookup fails. */
const MAX_BYTES = 48 * 1024 * 1024;
const MAX_LINE_LENGTH = 1_024;
const DEADLINE_MS = 3_000;
/** With two, the server's own user was refused in two of three runs with 500 open streams; with eight, in none of four. */
const MOST_READINGS = 8;

const FILES = ["/proc/net/tcp", "/proc/net/tcp6"] as const;
const ESTABLISHED = "01";

/**
 * The kernel's table of TCP sockets, for the user and inode at the other end of a local connection. One read of the table serves all
 * pending lookups; later lookups wait for the next read.
 */
export class TcpTable {
  readonly #files: readonly string[];
  #waiting: Question[] = [];
  #isReading = false;

  constructor(files: readonly string[] = FILES) {
    this.#files = files;
  }

  /** Never rejects. */
  find(connection: ClientView): Promise<ClientSocket> {
    const keys = keysOf(connection);
    if (keys.length === 0) return Promise.resolve({ kind: "unknown" });
    return new Promise((resolve) => {
      this.#waiting.push({ keys, resolve });
      if (!this.#isReading) void this.#read();
    });
  }

  /** For a connection with both ends on this machine. Its row exists, but a read may miss it while the table changes. */
  async findWithinMachine(connection: ClientView): Promise<ClientSocket> {
    for (let left = MOST_READINGS; left > 0; left--) {
      const found = await this.find(connection);
      if (found.kind !== "absent") return found;
    }
    return { kind: "unknown" };
  }

  /** Lookups requested at the same time are answered by one read. */
  async #read(): Promise<void> {
    this.#isReading = true;
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const questions = this.#waiting;
      this.#waiting = [];
      await answerAll(questions, this.#files);
    }
    this.#isReading = false;
  }
}

interface Question {
  readonly keys: readonly string[];
  readonly resolve: (socket: ClientSocket) => void;
}

async function answerAll(questions: readonly Question[], files: readonly string[]): Promise<void> {
  const unanswered = new Map(questions.flatMap((question) => question.keys.map((key) => [key, question] as const)));
  const answer = (question: Question, socket: ClientSocket) => {
    for (const key of question.keys) unanswered.delete(key);
    question.resolve(socket);
  };
  const deadline = performance.now() + DEADLINE_MS;
  let whole = true;
  for (const file of files) {
    whole =
      (await readLines(file, { deadline, line: (row) => answerRow(row, unanswered, answer), enough: () => unanswered.size === 0 })) &&
      whole;
    if (unanswered.size === 0) return;
  }
  for (const question of new Set(unanswered.values())) question.resolve({ kind: whole ? "absent" : "unknown" });
}

/** `sl: local remote state queues timer retransmissions uid timeout inode …`. The two addresses have a fixed length within a file. */
function answerRow(
  row: string,
  unanswered: ReadonlyMap<string, Question>,
  answer: (question: Question, socket: ClientSocket) => void,
): void {
  const begin = row.indexOf(": ") + 2;
  const end = row.indexOf(" ", row.indexOf(" ", begin) + 1);
  const question = unanswered.get(row.slice(begin, end));
  if (!question) return;
  const [state, , , , uid, , inode] = row.slice(end).trim().split(/\s+/);
  const isOpen = state === ESTABLISHED && inode !== undefined && inode !== "0";
  answer(question, isOpen ? { kind: "open", uid: Number(uid), inode } : { kind: "closed" });
}

interface Reading {
  readonly deadline: number;
  readonly line: (text: string) => void;
  readonly enough: () => boolean;
}

/** Returns whether the file was read completely, or as far as needed. A machine without IPv6 has no table for it. */
async function readLines(file: string, { deadline, line, enough }: Reading): Promise<boolean> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file);
    const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
    let rest = "";
    for (let taken = 0; taken < MAX_BYTES && performance.now() < deadline; ) {
      const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, null);
      if (bytesRead === 0) return true;
      taken += bytesRead;
      const lines = (rest + buffer.toString("latin1", 0, bytesRead)).split("\n");
      rest = lines.pop() ?? "";
      for (const text of lines) line(text);
      if (enough()) return true;
      if (rest.length > MAX_LINE_LENGTH) return false;
    }
    return false;
  } catch {
    return file.endsWith("6");
  } finally {
    await handle?.close().catch(() => undefined);
  }
}

/** The address pairs as the table writes them. A client may use an IPv6 socket for an IPv4 connection. */
function keysOf({ client, server }: ClientView): string[] {
  const [from, to] = [addressBytes(client.address), addressBytes(server.address)];
  if (!from || !to || from.length !== to.length) return [];
  const key = (before: readonly number[]) => `${written([...before, ...from], client.port)} ${written([...before, ...to], server.port)}`;
  return from.length === 4 ? [key([]), key(MAPPED)] : [key([])];
}

/** Words of four bytes in the machine's byte order, then the port. */
function written(bytes: readonly number[], port: number): string {
  const words = Array.from({ length: bytes.length / 4 }, (_, at) => bytes.slice(at * 4, at * 4 + 4));
  const ordered = endianness() === "LE" ? words.map((word) => word.toReversed()) : words;
  return `${hex(ordered.flat())}:${hex([port >> 8, port & 0xff])}`;
}

function hex(bytes: readonly number[]): string {
  return Buffer.from(bytes).toString("hex").toUpperCase();
}

/** The 4 or 16 bytes of an IP address; 4 for an IPv4-mapped IPv6 address too. Undefined if it is not an address. */
export function addressBytes(address: string): readonly number[] | undefined {
  if (isIPv4(address)) return address.split(".").map(Number);
  if (!isIPv6(address)) return undefined;
  const bytes = groupsOf(address).flatMap((group) => [group >> 8, group & 0xff]);
  return MAPPED.every((byte, at) => bytes[at] === byte) ? bytes.slice(MAPPED.length) : bytes;
}

/** The prefix of IPv4-mapped IPv6 addresses. */
const MAPPED: readonly number[] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

function groupsOf(address: string): number[] {
  const [plain = ""] = address.split("%");
  const dotted = /(\d+)\.(\d+)\.(\d+)\.(\d+)$/;
  const hexadecimal = plain.replace(dotted, (_, ...quad: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = quad.slice(0, 4).map(Number);
    return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  });
  const [head = [], tail = []] = hexadecimal.split("::").map((part) => (part === "" ? [] : part.split(":")));
  const zeros = Array<string>(8 - head.length - tail.length).fill("0");
  return [...head, ...zeros, ...tail].map((group) => Number.parseInt(group, 16));
}
