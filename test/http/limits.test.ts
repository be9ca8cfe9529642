import { describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.js";
import { handshake, notice, rpc, SPEC, SPEC_LATER, toolCall } from "../support/http/httpClient.js";
import { startHttpServer } from "../support/http/httpServer.js";
import { openSocket } from "../support/http/httpSocketClient.js";
import { valueAt } from "../support/scenarios/scenario.js";

const HANG = { prompt: "!hang" };

describe.concurrent("more sessions than may be open", () => {
  it("are refused with the time to wait, until one ends", async () => {
    await using server = await startHttpServer({ http: "max_sessions = 2" });
    const greet = () => server.ask({ headers: SPEC, message: handshake(0) });
    const [first] = [await greet(), await greet()];
    expect(await greet()).toMatchObject({
      status: 503,
      headers: { "retry-after": "30" },
      body: { id: null, error: { code: -32000, message: expect.stringContaining("2 sessions open, which is its limit") } },
    });
    await expect(openSocket(server.origin)).rejects.toMatchObject({ status: 503 });
    await server.ask({ method: "DELETE", headers: { "mcp-session-id": first?.session ?? "" } });
    expect((await greet()).status).toBe(200);
  });

  it("replace sessions that were opened by a single call and then left", async () => {
    await using server = await startHttpServer({ http: "max_sessions = 2" });
    const { session: kept } = await server.ask({ headers: SPEC, message: handshake(0) });
    for (const id of [1, 2, 3]) expect((await server.ask({ message: rpc(id, "ping") })).status).toBe(200);
    expect(await server.session(kept)).toMatchObject({ id: kept });
  });
});

describe.concurrent("more turns than may run", () => {
  it.each([
    ["a session", "turns_per_session = 1\nturn_queue = 1"],
    ["a principal", "turns_per_principal = 1\nturn_queue = 1"],
    ["the server, in different sessions", "max_running_sessions = 1\nturn_queue = 1"],
  ])("of %s wait in order, and are refused beyond that with the time to wait", async (whose, http) => {
    await using server = await startHttpServer({ http });
    using watching = await server.stream({});
    const first = { "mcp-session-id": watching.session ?? "" };
    const others = whose === "a session" ? first : {};
    const running = server.ask({ headers: first, message: toolCall("running", HANG) });
    await watching.step("user_message");
    using second = await server.stream({ headers: others });
    const waiting = server.ask({
      headers: { "mcp-session-id": second.session ?? "" },
      message: toolCall("waiting", { prompt: "!say at last" }),
    });
    await server.sessionWhere(second.session, (seen) => seen?.running === (whose === "a session" ? 2 : 1));
    expect(await server.ask({ headers: others, message: toolCall("refused", HANG) })).toMatchObject({
      status: 429,
      headers: { "retry-after": "5" },
      body: { id: "refused", error: { message: expect.stringContaining("try again in a few seconds") } },
    });
    // Requests that are no turns are still served.
    expect((await server.ask({ headers: first, message: rpc("p", "ping") })).status).toBe(200);
    await server.ask({ headers: first, message: notice("notifications/cancelled", { requestId: "running" }) });
    expect(valueAt((await running).body, "result.isError")).toBe(true);
    expect(valueAt((await waiting).body, "result.structuredContent.content")).toBe("at last");
  });

  it("that wait and are cancelled leave the queue", async () => {
    await using server = await startHttpServer({ http: "turns_per_session = 1\nturn_queue = 1" });
    using watching = await server.stream({});
    const own = { "mcp-session-id": watching.session ?? "" };
    const cancel = (requestId: string) => server.ask({ headers: own, message: notice("notifications/cancelled", { requestId }) });
    const running = server.ask({ headers: own, message: toolCall("running", HANG) });
    await watching.step("user_message");
    const unwanted = server.ask({ headers: own, message: toolCall("unwanted", HANG) });
    await server.sessionWhere(watching.session, (seen) => seen?.running === 2);
    await cancel("unwanted");
    expect(valueAt((await unwanted).body, "result.isError")).toBe(true);
    const next = server.ask({ headers: own, message: toolCall("next", { prompt: "!say my turn" }) });
    await server.sessionWhere(watching.session, (seen) => seen?.running === 2);
    await cancel("running");
    await running;
    expect(valueAt((await next).body, "result.structuredContent.content")).toBe("my turn");
  });
});

describe.concurrent("more streams than a session may have", () => {
  it("are refused with the time to wait", async () => {
    await using server = await startHttpServer({ http: "streams_per_session = 1" });
    using first = await server.stream({});
    const own = { "mcp-session-id": first.session ?? "" };
    expect(await server.ask({ headers: own })).toMatchObject({ status: 429, headers: { "retry-after": "5" } });
    first.breakOff();
    await server.sessionWhere(first.session, (seen) => seen?.streams === 0);
    (await server.stream({ headers: own })).breakOff();
  });
});

describe.concurrent("an unused session", () => {
  const hasty = { http: "idle_session_minutes = 0.005\nkeep_alive_seconds = 1" };

  it("ends, and its client learns that it is over", async () => {
    await using server = await startHttpServer(hasty);
    const { session = "" } = await server.ask({ headers: SPEC, message: handshake(0) });
    await server.sessionWhere(session, (seen) => seen === undefined);
    expect((await server.ask({ headers: { ...SPEC_LATER, "mcp-session-id": session }, message: rpc(1, "ping") })).status).toBe(404);
    await eventually("the log line", () => server.running.errorLines.find((line) => line.includes("it was idle for too long")));
  });

  it("does not end while a turn runs or a stream is open", async () => {
    await using server = await startHttpServer(hasty);
    using watching = await server.stream({});
    const { session: unused } = await server.ask({ message: rpc(1, "ping") });
    const { session: busy = "" } = await server.ask({ message: handshake(0) });
    const running = server.ask({ headers: { "mcp-session-id": busy }, message: toolCall(1, { prompt: "!slow 200 30" }) });
    await server.sessionWhere(busy, (seen) => seen?.running === 1);
    // The server removes two other sessions of the same age, but keeps these two.
    await server.sessionWhere(unused, (seen) => seen === undefined);
    expect(await server.session(watching.session)).toMatchObject({ streams: 1 });
    expect(await server.session(busy)).toMatchObject({ running: 1 });
    expect((await running).status).toBe(200);
    await server.sessionWhere(busy, (seen) => seen === undefined);
    expect(await server.session(watching.session)).toMatchObject({ streams: 1 });
  });
});

describe.concurrent("messages kept for clients that reconnect", () => {
  it("do not grow with the number of answered calls", async () => {
    await using server = await startHttpServer({ http: "replay_mib = 0.05\nkeep_alive_seconds = 1" });
    const { session = "" } = await server.ask({ message: rpc(0, "ping") });
    using socket = await openSocket(server.origin);
    for (let id = 1; id <= 40; id++) {
      await server.ask({ headers: { "mcp-session-id": session }, message: toolCall(id, { prompt: "!say hello" }) });
      socket.send(toolCall(id, { prompt: "!hang" }));
      await socket.message(
        "turn",
        (message) => valueAt(message, "params._meta.requestId") === id && valueAt(message, "params.msg.type") === "user_message",
      );
      socket.send(notice("notifications/cancelled", { requestId: id }));
      await socket.message(
        "its end",
        (message) => valueAt(message, "params._meta.requestId") === id && valueAt(message, "params.msg.type") === "turn_aborted",
      );
    }
    for (const id of [session, socket.session]) expect((await server.session(id))?.messages.keptBytes).toBeLessThan(110_000);
  });
});
