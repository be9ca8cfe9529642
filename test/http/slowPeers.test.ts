import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.js";
import { type EventStream, handshake, rpc, SPEC, SPEC_LATER, toolCall } from "../support/http/httpClient.js";
import { postHead, RawSocket } from "../support/http/httpRawSocket.js";
import { startHttpServer } from "../support/http/httpServer.js";
import { openSocket } from "../support/http/httpSocketClient.js";
import { valueAt } from "../support/scenarios/scenario.js";

const LISTENING = "0A";
const PING = rpc(1, "ping");
/**
 * A prompt whose events alone exceed the socket buffers of both ends when the client does not read. The hundreds of deltas after them must
 * wait.
 */
const FLOOD = `!slow 200 5\n${"x".repeat(3_000_000)}`;
const IMPATIENT = "slow_reader_seconds = 0.5\nqueue_length = 8\nreplay_mib = 200";

describe.concurrent("a slow client", () => {
  it.each([
    ["its headers", (port: number) => `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-`],
    ["its body", (port: number) => `${postHead(port, "Content-Length: 1000")}{`],
  ])("that sends %s slowly is disconnected, while others are served and long streams continue", async (_, beginning) => {
    await using server = await startHttpServer({ http: "header_timeout_seconds = 1\nrequest_timeout_seconds = 2" });
    using stream = await server.stream({ headers: { "x-mcp-post-stream": "1" }, message: toolCall(1, { prompt: "!slow 60 30" }) });
    const slow = await Promise.all(Array.from({ length: 20 }, () => RawSocket.open(server.port)));
    for (const socket of slow) socket.say(beginning(server.port));
    const dripping = setInterval(() => {
      for (const socket of slow) socket.say("a");
    }, 50);
    expect((await server.ask({ message: PING })).status).toBe(200);
    const ends = await Promise.all(slow.map((socket) => socket.untilClosed())).finally(() => clearInterval(dripping));
    for (const heard of ends) expect(heard).toMatch(/^(HTTP\/1\.1 408 |$)/);
    await stream.answerTo(1);
    expect(await stream.end()).toBe("gracefully");
  });

  it("that sends nothing at all does not affect others", async () => {
    await using server = await startHttpServer({ http: "header_timeout_seconds = 1" });
    const silent = await Promise.all(Array.from({ length: 200 }, () => RawSocket.open(server.port)));
    expect((await server.ask({ message: PING })).status).toBe(200);
    await Promise.all(silent.map((socket) => socket.untilClosed()));
  });

  it("that does not read a complete answer is disconnected", async () => {
    await using server = await startHttpServer({ http: "slow_reader_seconds = 1" });
    using socket = await RawSocket.open(server.port);
    const body = JSON.stringify(toolCall(1, { prompt: `!say ${"x".repeat(3_500_000)}`, "result-tokens": 1_000_000 }));
    socket.stopReading();
    socket.say(`${postHead(server.port, `Content-Length: ${body.length}`)}${body}`);
    const gone = eventually("the server's end of the connection is gone", () => (connectionsAt(server.port) === 0 ? true : undefined));
    expect(await gone).toBe(true);
  });
});

/** The connections at this port, as the kernel lists them. */
function connectionsAt(port: number): number {
  const [, ...rows] = readFileSync("/proc/net/tcp", "utf8").trim().split("\n");
  const held = rows
    .map((row) => row.trim().split(/\s+/))
    .filter(([, local, , state, , , , , , inode]) => {
      return local?.endsWith(`:${port.toString(16).toUpperCase().padStart(4, "0")}`) && state !== LISTENING && inode !== "0";
    });
  return held.length;
}

describe.concurrent("a subscriber that never reads", () => {
  it("is disconnected, and can reconnect for the missed events", async () => {
    await using server = await startHttpServer({ http: IMPATIENT });
    using stuck = await server.stream({});
    const own = { "mcp-session-id": stuck.session ?? "" };
    stuck.pause();
    const { body } = await server.ask({ headers: own, message: toolCall(1, { prompt: FLOOD }) });
    expect((await server.session(stuck.session))?.messages.disconnected).toBe(1);
    stuck.resume();
    expect(await stuck.end()).toBe("broken");
    const { events } = stuck;
    // On a busy machine the connection may be too slow again.
    for (let last = stuck; !answers(last).includes(1); ) {
      using next = await server.stream({ headers: { ...own, "last-event-id": events.at(-1)?.id ?? "" } });
      await next.answerTo(1).catch(() => next.end());
      events.push(...next.events);
      last = next;
    }
    expect(events.map(({ id }) => Number(id?.split(".")[2]))).toEqual(events.map((_, at) => at + 1));
    expect(JSON.parse(events.at(-1)?.data ?? "")).toEqual(body);
  });

  it("loses only deltas of texts if the server is configured to drop them", async () => {
    await using server = await startHttpServer({ http: 'when_behind = "drop-oldest"\nqueue_length = 8\nkeep_alive_seconds = 600' });
    using reading = await server.stream({});
    const own = { "mcp-session-id": reading.session ?? "" };
    using stuck = await server.stream({ headers: own });
    stuck.pause();
    const { body } = await server.ask({ headers: own, message: toolCall(1, { prompt: FLOOD }) });
    await reading.answerTo(1);
    stuck.resume();
    expect(await stuck.answerTo(1)).toEqual(body);
    expect((await server.session(reading.session))?.messages).toMatchObject({ disconnected: 0 });
    const isDelta = (step: string) => step.endsWith("_delta");
    expect(stuck.steps.length).toBeLessThan(reading.steps.length);
    expect(stuck.steps.filter((step) => !isDelta(step))).toEqual(reading.steps.filter((step) => !isDelta(step)));
    // The messages that a session drops at its end are counted too.
    const { dropped } = (await server.session(reading.session))?.messages ?? {};
    expect(dropped).toBeGreaterThan(0);
    await server.ask({ method: "DELETE", headers: own });
    await eventually("the end of the session", () => server.running.errorLines.find((line) => line.includes("session ended")));
    const { body: metrics } = await server.ask({ path: "/metrics" });
    expect(String(metrics)).toMatch(new RegExp(`messages_dropped_total ${dropped}$`, "m"));
  });

  it("on a WebSocket is disconnected, and resumes", async () => {
    await using server = await startHttpServer({ http: IMPATIENT });
    using stuck = await openSocket(server.origin);
    stuck.socket.pause();
    stuck.send(toolCall(1, { prompt: FLOOD }));
    await server.sessionWhere(stuck.session, (seen) => seen?.messages.disconnected === 1);
    stuck.socket.resume();
    await stuck.close();
    const { numbers } = stuck;
    for (let answered = false; !answered; ) {
      const place = { "mcp-session-id": stuck.session, "last-event-id": String(numbers.at(-1)) };
      using next = await openSocket(server.origin, { headers: place });
      answered = await next.answerTo(1).then(
        () => true,
        () => false,
      );
      numbers.push(...next.numbers);
    }
    expect(numbers).toEqual(numbers.map((_, at) => at + 1));
  });

  it("delays no other session, and its own other calls only until it is disconnected", async () => {
    await using server = await startHttpServer({ http: IMPATIENT });
    const { session = "" } = await server.ask({ headers: SPEC, message: handshake(0) });
    const own = { ...SPEC_LATER, "mcp-session-id": session };
    using stuck = await server.stream({ headers: own, message: toolCall(1, { prompt: FLOOD }) });
    stuck.pause();
    const others = await server.ask({ message: toolCall(1, { prompt: "!say hi" }) });
    expect(valueAt(others.body, "result.structuredContent.content")).toBe("hi");
    using other = await server.stream({ headers: own, message: toolCall(2, { prompt: "!slow 5 5" }) });
    await other.answerTo(2);
  });
});

/** The request ids of the answers on this stream. */
function answers({ messages }: EventStream): unknown[] {
  return messages.filter((message) => "result" in message).map(({ id }) => id);
}

describe("a thousand streams", () => {
  it("that break at once leave nothing behind", async () => {
    await using server = await startHttpServer({ http: "streams_per_session = 200" });
    const streams: EventStream[] = [];
    for (let group = 0; group < 10; group++) {
      const first = await server.stream({});
      const own = { "mcp-session-id": first.session ?? "" };
      streams.push(first, ...(await Promise.all(Array.from({ length: 99 }, () => server.stream({ headers: own })))));
    }
    const asked = server.ask({ headers: { "mcp-session-id": streams[0]?.session ?? "" }, message: toolCall(1, { prompt: "!slow 20 20" }) });
    await streams[0]?.step("agent_message_delta");
    for (const stream of streams) stream.breakOff();
    expect(valueAt((await asked).body, "result.isError")).toBeUndefined();
    for (let at = 0; at < streams.length; at += 100)
      expect(await server.sessionWhere(streams[at]?.session, (seen) => seen?.streams === 0)).toMatchObject({ running: 0 });
    expect((await server.ask({ message: PING })).status).toBe(200);
  });
});
