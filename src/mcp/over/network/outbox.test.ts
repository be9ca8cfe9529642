import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { sendScheduler } from "../../../http/fairScheduler.js";
import type { RequestId } from "../../../jsonrpc/message.js";
import type { DeliveryHints } from "../../../jsonrpc/wire.js";
import { type Exchange, Outbox, type OutboxLimits } from "./outbox.js";
import type { SentMessage } from "./replayBuffer.js";
import type { Stream, StreamKind, StreamSink } from "./stream.js";

const LIMITS: OutboxLimits = {
  queueLength: 4,
  lagPolicy: "disconnect",
  slowReaderMs: 10_000,
  replayBytes: 1024 * 1024,
  answeredBytes: 64 * 1024,
};

/** A client that accepts this number of writes and no more until the test says so. */
class Reader implements StreamSink {
  readonly got: string[] = [];
  readonly ids: string[] = [];
  ended: string | undefined;
  readonly stream: Stream;

  constructor(
    private readonly outbox: Outbox,
    {
      kind,
      after,
      name,
      until,
      takes = Number.POSITIVE_INFINITY,
    }: { kind: StreamKind; after?: number; name?: string; until?: RequestId; takes?: number },
  ) {
    this.takes = takes;
    this.stream = outbox.streams.attach({
      name: name ?? outbox.names.next(kind),
      kind,
      sink: this,
      ...(after === undefined ? {} : { after }),
      ...(until === undefined ? {} : { until }),
    });
  }

  takes: number;

  write(messages: readonly SentMessage[], streamName: string): boolean {
    this.got.push(...messages.map(({ text }) => text));
    this.ids.push(...messages.map(({ seq }) => this.outbox.names.eventId(streamName, seq)));
    return --this.takes > 0;
  }

  keepAlive(): void {
    this.got.push("(alive)");
  }

  end(how: string): void {
    this.ended = how;
  }

  readOn(): void {
    this.takes = Number.POSITIVE_INFINITY;
    this.outbox.streams.drained(this.stream);
  }

  /** The connection breaks. */
  breakOff(): void {
    this.outbox.streams.detach(this.stream, { now: Date.now(), comesBackWithinMs: 60_000 });
  }
}

/** Senders share the turns of the event loop by time, so a busy machine needs several turns. */
async function everythingSent(): Promise<void> {
  do await nextTurn();
  while (sendScheduler.isBusy);
}

function post(ids: readonly RequestId[], stream?: string): Exchange & { readonly took: string[]; readonly heard: string[] } {
  const took: string[] = [];
  const heard: string[] = [];
  return {
    ids,
    isOpen: true,
    stream,
    took,
    heard,
    spoken: () => heard.push("spoken"),
    answered(text: string) {
      took.push(text);
      return stream === undefined;
    },
    givenUp: () => heard.push("given up"),
  };
}

function makeOutbox(changes: Partial<OutboxLimits> = {}): Outbox {
  return new Outbox({ ...LIMITS, ...changes }, { answersCancelled: true });
}

const news = (id: RequestId): DeliveryHints => ({ relatedTo: id });
const answer = (id: RequestId): DeliveryHints => ({ relatedTo: id, answer: "given" });

describe("the target of a message", () => {
  it("a stream for everything carries every message, answers included, from when it was opened", async () => {
    const box = makeOutbox();
    box.send("before");
    const reader = new Reader(box, { kind: "everything" });
    box.expect(post([1]));
    box.send("event", news(1));
    box.send("result", answer(1));
    await everythingSent();
    expect(reader.got).toEqual(["event", "result"]);
  });

  it("messages about a POST with a stream of its own go there only, and its answer ends it", async () => {
    const box = makeOutbox();
    const own = new Reader(box, { kind: "own", name: "p7" });
    const shared = new Reader(box, { kind: "shared" });
    const exchange = post([1], "p7");
    box.expect(exchange);
    box.send("about it", news(1));
    box.send("about nothing");
    box.send("result", answer(1));
    await everythingSent();
    expect({ own: own.got, ended: own.ended, shared: shared.got, heard: exchange.heard }).toEqual({
      own: ["about it", "result"],
      ended: "gracefully",
      shared: ["about nothing"],
      heard: ["spoken"],
    });
  });

  it("of several shared streams one gets a message, the newest", async () => {
    const box = makeOutbox();
    const older = new Reader(box, { kind: "shared" });
    const newer = new Reader(box, { kind: "shared" });
    box.send("one");
    await everythingSent();
    expect([older.got, newer.got]).toEqual([[], ["one"]]);
  });

  it("the answer to a POST without a stream is its body, and never on a shared stream", async () => {
    const box = makeOutbox();
    const shared = new Reader(box, { kind: "shared" });
    const exchange = post([1]);
    box.expect(exchange);
    box.send("event", news(1));
    box.send("result", answer(1));
    await everythingSent();
    expect({ body: exchange.took, shared: shared.got }).toEqual({ body: ["result"], shared: ["event"] });
  });

  it("messages without a stream wait for the next shared stream", async () => {
    const box = makeOutbox();
    box.send("early");
    const reader = new Reader(box, { kind: "shared" });
    await everythingSent();
    expect(reader.got).toEqual(["early"]);
  });

  it("messages of one iteration of the event loop are sent in one write", async () => {
    const box = makeOutbox();
    const reader = new Reader(box, { kind: "everything" });
    const write = vi.spyOn(reader, "write");
    for (const text of ["a", "b", "c"]) box.send(text);
    await everythingSent();
    expect({ got: reader.got, writes: write.mock.calls.length }).toEqual({ got: ["a", "b", "c"], writes: 1 });
  });
});

describe("a client that comes back", () => {
  it("gets what its stream for everything missed, and nothing twice", async () => {
    const box = makeOutbox();
    const first = new Reader(box, { kind: "everything" });
    box.send("one");
    box.send("two");
    await everythingSent();
    first.breakOff();
    box.send("three");
    const place = box.placeOf(first.ids[0] ?? "");
    const second = new Reader(box, { kind: "everything", after: place?.seq ?? -1 });
    box.send("four");
    await everythingSent();
    expect(second.got).toEqual(["two", "three", "four"]);
  });

  it("finds the rest of a POST's stream, the answer included, under the id of its last event", async () => {
    const box = makeOutbox();
    const first = new Reader(box, { kind: "own", name: box.names.next("own") });
    box.expect(post([1], first.stream.name));
    box.send("event", news(1));
    await everythingSent();
    first.breakOff();
    box.send("another", news(1));
    box.send("result", answer(1));
    await everythingSent();
    const place = box.placeOf(first.ids.at(-1) ?? "");
    expect(place).toEqual({ name: first.stream.name, kind: "own", seq: 1 });
    expect(box.hasMoreFor(first.stream.name, 1)).toEqual(true);
    const second = new Reader(box, { kind: "own", name: first.stream.name, after: 1 });
    await everythingSent();
    expect({ got: second.got, ended: second.ended, more: box.hasMoreFor(first.stream.name, 3) }).toEqual({
      got: ["another", "result"],
      ended: "gracefully",
      more: false,
    });
  });

  it("takes the place of a connection of the same stream that is still open", async () => {
    const box = makeOutbox();
    const first = new Reader(box, { kind: "shared" });
    box.send("one");
    await everythingSent();
    const second = new Reader(box, { kind: "shared", name: first.stream.name, after: 1 });
    box.send("two");
    await everythingSent();
    expect({ first: [first.got, first.ended], second: second.got }).toEqual({ first: [["one"], "immediately"], second: ["two"] });
  });

  it("is not given what another shared stream got", async () => {
    const box = makeOutbox();
    const gone = new Reader(box, { kind: "shared" });
    box.send("its own");
    await everythingSent();
    gone.breakOff();
    const other = new Reader(box, { kind: "shared" });
    await everythingSent();
    expect(other.got).toEqual([]);
  });

  it.each(["", "nonsense", "00000000.a.1", "a.1"])("with an id that is not of this session has no place: %j", (id) => {
    const box = makeOutbox();
    box.send("one");
    expect(box.placeOf(id)).toEqual(undefined);
  });

  it("cannot come from the future", () => {
    const box = makeOutbox();
    expect(box.placeOf(box.names.eventId("a", 5))).toEqual(undefined);
  });
});

describe("a client that does not read", () => {
  it("makes the sender wait while its queue is full", async () => {
    const box = makeOutbox();
    const reader = new Reader(box, { kind: "everything", takes: 1 });
    box.send("first");
    await expect.poll(() => reader.got).toEqual(["first"]);
    for (const text of ["1", "2", "3"]) box.send(text);
    expect(box.congested()).toEqual(undefined);
    box.send("4");
    const relief = box.congested();
    expect(relief).toBeInstanceOf(Promise);
    reader.readOn();
    await relief;
    expect({ got: reader.got, congested: box.congested() }).toEqual({ got: ["first", "1", "2", "3", "4"], congested: undefined });
  });

  it("is disconnected when it stays that way, and the others go on", async () => {
    const box = makeOutbox({ slowReaderMs: 1 });
    const stuck = new Reader(box, { kind: "everything", takes: 1 });
    const well = new Reader(box, { kind: "everything" });
    for (const text of ["a", "b", "c", "d", "e", "f"]) {
      box.send(text);
      await everythingSent();
    }
    await box.congested();
    expect({ stuck: stuck.ended, well: well.got, counts: box.counts }).toEqual({
      stuck: "immediately",
      well: ["a", "b", "c", "d", "e", "f"],
      counts: { sent: 6, dropped: 0, disconnected: 1 },
    });
  });

  it("is disconnected even if nobody waits for it, such as the sender of responses", async () => {
    const box = makeOutbox({ slowReaderMs: 1 });
    const stuck = new Reader(box, { kind: "everything", takes: 1 });
    for (const text of ["a", "b", "c", "d", "e"]) {
      box.send(text);
      await everythingSent();
    }
    await expect.poll(() => stuck.ended).toBe("immediately");
  });

  it.each(["disconnect", "drop-oldest"] as const)("is disconnected for few messages if they are very long, under %s", async (lagPolicy) => {
    const box = makeOutbox({ slowReaderMs: 1, lagPolicy, replayBytes: 1_000 });
    const stuck = new Reader(box, { kind: "everything", takes: 1 });
    box.send("first");
    await everythingSent();
    box.send("x".repeat(4_000));
    await box.congested();
    expect([stuck.ended, box.counts.disconnected]).toEqual(["immediately", 1]);
  });

  it("that reads a little now and then does not hide how much waits for it", async () => {
    const box = makeOutbox({ replayBytes: 1024 * 1024 });
    const slow = new Reader(box, { kind: "everything", takes: 1 });
    const text = "x".repeat(200_000);
    box.send("first");
    await everythingSent();
    for (let round = 0; round < 3; round++) {
      for (let at = 0; at < 4; at++) box.send(text);
      await everythingSent();
      slow.takes = 1;
      box.streams.drained(slow.stream);
      await everythingSent();
    }
    const unread = 12 - (slow.got.length - 1);
    expect([unread > 4, slow.stream.waitingLength]).toEqual([true, unread * text.length]);
    slow.readOn();
    await everythingSent();
    expect([slow.got.length, slow.stream.waitingLength]).toEqual([13, 0]);
  });

  it("misses only the oldest deltas of texts, if that is the policy", async () => {
    const box = makeOutbox({ lagPolicy: "drop-oldest" });
    const reader = new Reader(box, { kind: "everything", takes: 1 });
    box.send("first");
    await everythingSent();
    for (let at = 1; at <= 10; at++) box.send(`delta ${at}`, { relatedTo: 1, deltaOf: "text" });
    box.send("state", news(1));
    expect(box.congested()).toEqual(undefined);
    reader.readOn();
    await everythingSent();
    expect(reader.got).toEqual(["first", "delta 8", "delta 9", "delta 10", "state"]);
  });
});

describe("kept messages", () => {
  it("are bounded: deltas of finished texts go first, answers and state never", async () => {
    const box = makeOutbox({ replayBytes: 20_000 });
    for (let at = 0; at < 200; at++) box.send(`delta ${at} `.padEnd(100, "."), { relatedTo: 1, deltaOf: "text" });
    box.send("state", news(1));
    box.send("the text", { relatedTo: 1, whole: "text" });
    box.send("question");
    for (let at = 0; at < 200; at++) box.send(`more ${at} `.padEnd(100, "."), { relatedTo: 1, deltaOf: "other" });
    const late = new Reader(box, { kind: "everything", after: 0 });
    await everythingSent();
    expect(late.got.filter((text) => !text.includes("..."))).toEqual(["state", "the text", "question"]);
    expect(box.keptBytes).toBeLessThan(2 * 20_000);
    expect(box.counts.dropped).toBeGreaterThan(200);
  });

  it("are dropped after a while, except those of running requests and those that wait for a stream", async () => {
    const box = makeOutbox();
    box.send("done", news(1));
    box.send("result", answer(1));
    box.send("running", news(2));
    box.send("untaken");
    box.tick({ now: Date.now() + 1_000, keepAlive: false, retainMs: 0 });
    const late = new Reader(box, { kind: "everything", after: 0 });
    await everythingSent();
    expect(late.got).toEqual(["running", "untaken"]);
  });

  it("are not kept for a response that was sent as a body", () => {
    const box = makeOutbox();
    for (let id = 0; id < 100; id++) {
      box.expect(post([id]));
      box.send("pong", answer(id));
    }
    expect(box.keptBytes).toEqual(0);
  });
});

it("keep-alive comments go to streams that accept data", async () => {
  const box = makeOutbox();
  const reader = new Reader(box, { kind: "everything" });
  const stuck = new Reader(box, { kind: "everything", takes: 1 });
  box.send("one");
  await everythingSent();
  box.tick({ now: Date.now(), keepAlive: true, retainMs: 60_000 });
  expect([reader.got, stuck.got]).toEqual([["one", "(alive)"], ["one"]]);
});

it("closing ends waiting POSTs, ends streams after their last message, and sends nothing more", async () => {
  const box = makeOutbox();
  const reader = new Reader(box, { kind: "everything" });
  const waiting = post([1]);
  box.expect(waiting);
  box.send("last words");
  await box.close();
  await box.close();
  box.send("too late");
  await everythingSent();
  expect({ got: reader.got, ended: reader.ended, heard: waiting.heard, streams: box.streams.count }).toEqual({
    got: ["last words"],
    ended: "gracefully",
    heard: ["given up"],
    streams: 0,
  });
});
