import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { PassThrough, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { setImmediate as loopTurn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { StreamWire } from "../../jsonrpc/streamWire.js";
import { deferred } from "../../lib/promises.js";

const folder = mkdtempSync(path.join(tmpdir(), "stdio-"));
afterAll(() => rmSync(folder, { recursive: true }));

const MiB = 1024 * 1024;

/** A wire whose output is a real socket. The other end reads only when the test does. */
async function wireOnSocket() {
  const server = net.createServer({ pauseOnConnect: true }).listen(path.join(folder, "socket"));
  await once(server, "listening");
  const near = net.connect(path.join(folder, "socket"));
  const [far]: net.Socket[] = await once(server, "connection");
  if (!far) throw new Error("no connection");
  const input = new PassThrough();
  const wire = new StreamWire(input, outputTo(near));
  return {
    wire,
    input,
    near,
    far,
    async [Symbol.asyncDispose]() {
      near.destroy();
      far.destroy();
      input.destroy();
      await new Promise((closed) => server.close(closed));
    },
  };
}

function outputTo(stream: Writable) {
  return { stream, write: (line: string, written: () => void) => stream.write(line, written) };
}

/** An output that keeps each chunk, and accepts the next one only when the test says so. */
class SlowOutput extends Writable {
  readonly writes: string[] = [];
  #taken = deferred<() => void>();

  constructor(options: { readonly highWaterMark?: number } = {}) {
    super({ ...options, decodeStrings: false });
  }

  override _write(chunk: unknown, _encoding: string, done: () => void): void {
    this.writes.push(String(chunk));
    this.#taken.resolve(done);
  }

  async takeOne(): Promise<void> {
    const done = await this.#taken.promise;
    this.#taken = deferred();
    done();
  }
}

async function settled(promise: Promise<unknown>): Promise<boolean> {
  let isSettled = false;
  const note = () => {
    isSettled = true;
  };
  promise.then(note, note);
  for (let turn = 0; turn < 5; turn++) await loopTurn();
  return isSettled;
}

describe("input", () => {
  it("is split into messages, however it arrives, with characters kept whole", async () => {
    const input = new PassThrough();
    const wire = new StreamWire(input, outputTo(new SlowOutput()));
    const bytes = Buffer.from('{"id":"ü😀"}\r\n\nlast');
    for (const byte of bytes) input.write(Buffer.of(byte));
    input.end();
    const frames: unknown[] = [];
    for await (const frame of wire.incoming) frames.push(frame);
    expect(frames).toEqual([{ text: '{"id":"ü😀"}' }, { text: "" }, { text: "last" }]);
  });

  it("that fails counts as ended", async () => {
    const input = new PassThrough();
    const wire = new StreamWire(input, outputTo(new SlowOutput()));
    input.write("one\n");
    const frames: unknown[] = [];
    for await (const frame of wire.incoming) {
      frames.push(frame);
      input.destroy(new Error("read ECONNRESET"));
    }
    expect(frames).toEqual([{ text: "one" }]);
  });

  it("of more than 64 MiB in one line is refused, and the next line is read", async () => {
    const input = new PassThrough();
    const wire = new StreamWire(input, outputTo(new SlowOutput()));
    const piece = Buffer.alloc(16 * MiB, "x");
    for (let count = 0; count < 4; count++) input.write(piece);
    input.end("x\nnext\n");
    const frames: unknown[] = [];
    for await (const frame of wire.incoming) frames.push(frame);
    expect(frames).toEqual([{ tooLongBytes: 64 * MiB + 1 }, { text: "next" }]);
  });
});

describe("output", () => {
  it("of one turn of the event loop is sent in one write, in order", async () => {
    const output = new SlowOutput();
    const wire = new StreamWire(new PassThrough(), outputTo(output));
    wire.send("1");
    await Promise.resolve();
    wire.send("2");
    await output.takeOne();
    wire.send("3");
    await output.takeOne();
    expect(output.writes).toEqual(["1\n2\n", "3\n"]);
  });

  it("that is not read makes the sender wait until it is read", async () => {
    await using scene = await wireOnSocket();
    expect(scene.wire.congested()).toBeUndefined();
    const message = "x".repeat(2 * MiB);
    scene.wire.send(message);
    const congestion = scene.wire.congested();
    if (!congestion) throw new Error("2 MiB that nobody read, and no congestion");
    expect(await settled(congestion)).toBe(false);
    scene.far.resume();
    await congestion;
    expect(scene.wire.congested()).toBeUndefined();
  });

  it("that is congested does not stop input, so that a slow reader can cancel", async () => {
    await using scene = await wireOnSocket();
    const incoming = scene.wire.incoming[Symbol.asyncIterator]();
    scene.input.write("call\ncancel\n");
    expect(await incoming.next()).toEqual({ done: false, value: { text: "call" } });
    scene.wire.send("x".repeat(8 * MiB));
    expect(scene.wire.congested()).toBeDefined();
    expect(await incoming.next()).toEqual({ done: false, value: { text: "cancel" } });
  });

  it("that exceeds a second limit stops input until it is read", async () => {
    await using scene = await wireOnSocket();
    const incoming = scene.wire.incoming[Symbol.asyncIterator]();
    scene.input.write("first\nsecond\n");
    await incoming.next();
    scene.wire.send("x".repeat(17 * MiB));
    const next = incoming.next();
    expect(await settled(next)).toBe(false);
    scene.far.resume();
    expect(await next).toEqual({ done: false, value: { text: "second" } });
  });

  it("whose reader is gone ends the input too, without an error, and closing does not wait", async () => {
    await using scene = await wireOnSocket();
    scene.far.destroy();
    scene.wire.send("x".repeat(2 * MiB));
    const congestion = scene.wire.congested();
    const frames: unknown[] = [];
    for await (const frame of scene.wire.incoming) frames.push(frame);
    await congestion;
    scene.wire.send("to nobody");
    await scene.wire.close();
    expect([frames, scene.wire.congested()]).toEqual([[], undefined]);
  });
});

describe("closing", () => {
  afterEach(() => vi.useRealTimers());

  it("delivers everything that was sent before, and nothing that is sent afterwards", async () => {
    await using scene = await wireOnSocket();
    for (let count = 0; count < 300; count++) scene.wire.send(`${count} ${"x".repeat(10_000)}`);
    const closing = scene.wire.close();
    scene.wire.send("too late");
    const received = text(scene.far);
    await closing;
    await scene.wire.close();
    scene.near.end();
    const numbers = (await received).split("\n").map((line) => line.split(" ")[0]);
    expect(numbers).toEqual([...Array.from({ length: 300 }, (_, count) => String(count)), ""]);
  });

  it("releases senders that wait for a reader", async () => {
    const wire = new StreamWire(new PassThrough(), outputTo(new SlowOutput()));
    wire.send("x".repeat(2 * MiB));
    const congestion = wire.congested();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const closing = wire.close();
    await expect(congestion).resolves.toBeUndefined();
    await vi.advanceTimersByTimeAsync(500);
    await expect(closing).resolves.toBeUndefined();
  });

  it("ends as soon as the last bytes have been read", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const output = new SlowOutput({ highWaterMark: MiB });
    const wire = new StreamWire(new PassThrough(), outputTo(output));
    wire.send("a few bytes");
    const closing = wire.close();
    expect(await settled(closing)).toBe(false);
    await output.takeOne();
    expect(await settled(closing)).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("waits half a second for a client that does not read, not longer", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const wire = new StreamWire(new PassThrough(), outputTo(new SlowOutput()));
    wire.send("never read");
    const closing = wire.close();
    await vi.advanceTimersByTimeAsync(499);
    expect(await settled(closing)).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await closing;
  });
});

describe("a real process", () => {
  const program = path.join(folder, "talker.mjs");

  beforeAll(async () => {
    const source = fileURLToPath(new URL("../../../test/programs/stdioTalker.ts", import.meta.url));
    await build({ entryPoints: [source], outfile: program, bundle: true, platform: "node", format: "esm", target: "node20" });
  });

  function startTalker() {
    const child = spawn(process.execPath, [program], { stdio: "pipe" });
    return { child, exit: once(child, "exit") };
  }

  it("has only messages on stdout; all other output goes to stderr", async () => {
    const { child, exit } = startTalker();
    child.stdin.end("noise\n");
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
    expect({ stdout, stderr, exit: await exit }).toEqual({
      stdout: "done: noise\n",
      stderr: "a forgotten console.log\na dependency that prints\n",
      exit: [0, null],
    });
  });

  it("waits for a client that stops reading, still responds, and loses nothing", async () => {
    const { child, exit } = startTalker();
    child.stdin.end("flood\n");
    // The process can write this only if it is not blocked in a write.
    expect(String((await once(child.stderr, "data"))[0])).toBe("waiting for the reader\n");
    const received = await text(child.stdout);
    expect({ length: received.length, end: received.slice(-14), exit: await exit }).toEqual({
      length: 4 * 1_000_001 + "done: flood\n".length,
      end: "x\ndone: flood\n",
      exit: [0, null],
    });
  });

  it("ends without an error when its client is killed", async () => {
    const { child, exit } = startTalker();
    child.stdout.destroy();
    child.stdin.write("flood\n");
    expect([await text(child.stderr), await exit]).toEqual(["waiting for the reader\n", [0, null]]);
  });
});
