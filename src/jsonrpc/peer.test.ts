import { describe, expect, it } from "vitest";
import { memoryWires } from "../../test/support/memory/memoryWires.js";
import { type Deferred, deferred } from "../lib/promises.js";
import { RPC, RpcError } from "./errors.js";
import type { RequestId } from "./message.js";
import { type IncomingRequest, JsonRpcPeer } from "./peer.js";
import type { Frame, Wire } from "./wire.js";

const LIMIT = 1024;
const GONE = new Error("the other side is gone");

/** A peer that serves `work` (requests the test settles), `echo` and `explode`, and the other end of its wire. */
class Scene implements AsyncDisposable {
  readonly peer: JsonRpcPeer;
  /** Requests to `work` that arrived, by id. */
  readonly work = new Map<RequestId, { request: IncomingRequest; done: Deferred<unknown> }>();
  readonly notified: unknown[] = [];
  readonly unreadable: string[] = [];
  readonly failed: unknown[] = [];
  readonly #wire: Wire;
  readonly #received: AsyncIterator<Frame>;
  readonly #running: Promise<void>;

  constructor() {
    const [near, far] = memoryWires();
    this.#wire = far;
    this.#received = far.incoming[Symbol.asyncIterator]();
    this.peer = new JsonRpcPeer(near, {
      answer: (request) => this.#answer(request),
      notified: (method, params) => this.notified.push([method, params]),
      unreadable: (reason) => this.unreadable.push(reason),
      failed: (method, error) => `failure ${this.failed.push([method, error])}`,
    });
    this.#running = this.peer.run(near.incoming);
  }

  say(...messages: (object | string)[]): void {
    for (const message of messages) this.#wire.send(typeof message === "string" ? message : JSON.stringify(message));
  }

  /** The next message that the peer sent. */
  async hear(): Promise<unknown> {
    const { value, done } = await this.#received.next();
    return done ? "the end" : "text" in value ? JSON.parse(value.text) : value;
  }

  async heardText(): Promise<string> {
    const { value } = await this.#received.next();
    return "text" in value ? value.text : "";
  }

  /** Everything that the peer sent in reply to the input so far; a `ping` marks the end. */
  async heardUntilNow(): Promise<unknown[]> {
    this.say({ id: "marker", method: "echo", params: "marker" });
    const heard: unknown[] = [];
    for (;;) {
      const message = await this.hear();
      if (JSON.stringify(message).includes('"marker"')) return heard;
      heard.push(message);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.peer.close(GONE);
    await this.#wire.close();
    await this.#running;
  }

  async #answer(request: IncomingRequest): Promise<unknown> {
    switch (request.method) {
      case "echo":
        return request.params;
      case "explode":
        throw new TypeError("no such thing");
      case "work": {
        const done = deferred<unknown>();
        this.work.set(request.id, { request, done });
        return done.promise;
      }
      default:
        throw new RpcError(RPC.methodNotFound, `method not found: ${request.method}`, { method: request.method });
    }
  }
}

function resultAnswer(id: string | number, value: unknown): unknown {
  return { id, jsonrpc: "2.0", result: value };
}

function errorAnswer(id: string | number | null, code: number, message: string): unknown {
  return { error: { code, message }, id, jsonrpc: "2.0" };
}

describe("requests of the other side", () => {
  it("are answered under their id, whose type is kept", async () => {
    await using scene = new Scene();
    scene.say({ id: 1, method: "echo", params: "number" }, { id: "1", method: "echo", params: "text" });
    expect([await scene.hear(), await scene.hear()]).toEqual([resultAnswer(1, "number"), resultAnswer("1", "text")]);
  });

  it("are answered with the digits of their id, even where a number could not hold them", async () => {
    await using scene = new Scene();
    scene.say('{"jsonrpc":"2.0","id":9007199254740993,"method":"echo"}', '{"jsonrpc":"2.0","id":9007199254740995,"method":"nothing"}');
    expect([await scene.heardText(), await scene.heardText()]).toEqual([
      expect.stringContaining('"id":9007199254740993,'),
      expect.stringContaining('"id":9007199254740995,'),
    ]);
  });

  it("may be answered in any order", async () => {
    await using scene = new Scene();
    scene.say({ id: 1, method: "work" }, { id: 2, method: "work" });
    await scene.heardUntilNow();
    scene.work.get(2)?.done.resolve("second");
    expect(await scene.hear()).toEqual(resultAnswer(2, "second"));
    scene.work.get(1)?.done.resolve("first");
    expect(await scene.hear()).toEqual(resultAnswer(1, "first"));
  });

  it("are refused while another one with the same id is in flight, which continues", async () => {
    await using scene = new Scene();
    scene.say({ id: 1, method: "work" }, { id: 1, method: "echo" });
    expect(await scene.hear()).toEqual(errorAnswer(1, -32600, "a request with this id is already in flight"));
    scene.work.get(1)?.done.resolve("done");
    expect(await scene.hear()).toEqual(resultAnswer(1, "done"));
    scene.say({ id: 1, method: "echo", params: "again" });
    expect(await scene.hear()).toEqual(resultAnswer(1, "again"));
  });

  it("for an unknown method get the error that was thrown, with its data", async () => {
    await using scene = new Scene();
    scene.say({ id: 1, method: "foo/bar" });
    expect(await scene.hear()).toEqual({
      error: { code: -32601, message: "method not found: foo/bar", data: { method: "foo/bar" } },
      id: 1,
      jsonrpc: "2.0",
    });
    expect(scene.failed).toEqual([]);
  });

  it("that fail unexpectedly are answered as internal errors and reported with the cause", async () => {
    await using scene = new Scene();
    scene.say({ id: 1, method: "explode" });
    expect(await scene.hear()).toEqual(errorAnswer(1, -32603, "failure 1"));
    expect(scene.failed).toEqual([["explode", new TypeError("no such thing")]]);
  });

  it("are refused beyond the limit until one is answered", async () => {
    await using scene = new Scene();
    for (let id = 0; id < LIMIT; id++) scene.say({ id, method: "work" });
    scene.say({ id: "surplus", method: "echo" });
    expect(await scene.hear()).toEqual(errorAnswer("surplus", -32000, "1024 requests are in flight; wait for an answer"));
    scene.work.get(0)?.done.resolve("done");
    expect(await scene.hear()).toEqual(resultAnswer(0, "done"));
    scene.say({ id: "again", method: "echo", params: "fits" });
    expect(await scene.hear()).toEqual(resultAnswer("again", "fits"));
  });
});

describe("a cancelled request", () => {
  it("has its signal aborted with the reason and gets no answer in any case", async () => {
    await using scene = new Scene();
    scene.say({ id: 1, method: "work" }, { id: 2, method: "work" }, { id: 3, method: "work" });
    await scene.heardUntilNow();
    const reason = new Error("the client cancelled");
    expect([scene.peer.cancel(1, reason), scene.peer.cancel(2, reason)]).toEqual([true, true]);
    expect([1, 2, 3].map((id) => scene.work.get(id)?.request.signal.reason)).toEqual([reason, reason, undefined]);
    scene.work.get(1)?.done.resolve("too late");
    scene.work.get(2)?.done.reject(reason);
    scene.work.get(3)?.done.resolve("wanted");
    expect(await scene.heardUntilNow()).toEqual([resultAnswer(3, "wanted")]);
  });

  it("is only found under its own id and type, while it runs", async () => {
    await using scene = new Scene();
    scene.say({ id: 1, method: "work" }, { id: 2, method: "echo" });
    await scene.heardUntilNow();
    expect([scene.peer.cancel("1", GONE), scene.peer.cancel(2, GONE), scene.peer.cancel(9, GONE)]).toEqual([false, false, false]);
    scene.work.get(1)?.done.resolve("done");
    expect(await scene.hear()).toEqual(resultAnswer(1, "done"));
  });
});

describe("the id of a cancelled request", () => {
  it("is free at once; a new request with it is served when the old one has ended", async () => {
    await using scene = new Scene();
    scene.say({ id: 1, method: "work" });
    await scene.heardUntilNow();
    const old = scene.work.get(1);
    scene.peer.cancel(1, GONE);
    scene.say({ id: 1, method: "echo", params: "new" }, { id: 2, method: "echo", params: "other" });
    expect(await scene.hear()).toEqual(resultAnswer(2, "other"));
    expect(scene.peer.servingCount).toBe(2);
    old?.done.resolve("too late");
    expect(await scene.hear()).toEqual(resultAnswer(1, "new"));
  });
});

describe("interrupted requests", () => {
  it("have their signal aborted and are still answered, including those that come later", async () => {
    await using scene = new Scene();
    scene.say({ id: 1, method: "work" });
    await scene.heardUntilNow();
    const reason = new Error("the server is shutting down");
    scene.peer.interrupt(reason);
    scene.say({ id: 2, method: "work" });
    await scene.heardUntilNow();
    expect([1, 2].map((id) => scene.work.get(id)?.request.signal.reason)).toEqual([reason, reason]);
    for (const id of [1, 2]) scene.work.get(id)?.done.resolve("stopped");
    expect([await scene.hear(), await scene.hear()]).toEqual([resultAnswer(1, "stopped"), resultAnswer(2, "stopped")]);
  });
});

describe("our own requests", () => {
  it("are numbered from 0 and get the answer under their number, in any order", async () => {
    await using scene = new Scene();
    const first = scene.peer.request("ask", { question: "a" });
    const second = scene.peer.request("ask", { question: "b" });
    expect([await scene.hear(), await scene.hear()]).toEqual([
      { id: 0, jsonrpc: "2.0", method: "ask", params: { question: "a" } },
      { id: 1, jsonrpc: "2.0", method: "ask", params: { question: "b" } },
    ]);
    scene.say(resultAnswer(1, "to b") as object, resultAnswer(0, "to a") as object);
    expect([await first, await second]).toEqual(["to a", "to b"]);
  });

  it("are rejected with the other side's error", async () => {
    await using scene = new Scene();
    const asked = scene.peer.request("ask", {});
    scene.say({ id: 0, error: { code: -1, message: "no", data: { why: "because" } } });
    await expect(asked).rejects.toEqual(new RpcError(-1, "no", { why: "because" }));
  });

  it("are not answered by an id of another type, nor by an unknown one, nor twice", async () => {
    await using scene = new Scene();
    const asked = scene.peer.request("ask", {});
    scene.say({ id: "0", result: "wrong type" }, { id: 7, result: "nobody asked" }, { id: 7, error: { code: 1, message: "" } });
    scene.say({ id: 0, result: "right" }, { id: 0, result: "again" });
    expect(await asked).toBe("right");
    expect([scene.unreadable, scene.failed]).toEqual([[], []]);
  });

  it("end with their signal's reason when it aborts, and a late answer is ignored", async () => {
    await using scene = new Scene();
    const abort = new AbortController();
    const asked = scene.peer.request("ask", {}, { signal: abort.signal });
    await scene.hear();
    abort.abort(new Error("nobody waits any more"));
    await expect(asked).rejects.toThrow("nobody waits any more");
    scene.say({ id: 0, result: "late" });
    expect(await scene.heardUntilNow()).toEqual([]);
    await expect(scene.peer.request("ask", {}, { signal: abort.signal })).rejects.toThrow("nobody waits any more");
    expect(await scene.heardUntilNow()).toEqual([]);
  });

  it("are refused beyond the limit until one is answered", async () => {
    await using scene = new Scene();
    const asked = Array.from({ length: LIMIT }, () => scene.peer.request("ask", {}));
    await expect(scene.peer.request("ask", {})).rejects.toEqual(new RpcError(RPC.busy, "1024 requests wait for an answer already"));
    scene.say({ id: 5, result: "done" });
    await asked[5];
    asked.push(scene.peer.request("ask", {}));
    scene.peer.close(GONE);
    expect(await Promise.allSettled(asked)).toEqual(
      asked.map((_, id) => (id === 5 ? { status: "fulfilled", value: "done" } : { status: "rejected", reason: GONE })),
    );
  });
});

describe("batches", () => {
  const ping = { id: 1, method: "echo", params: "pong" };

  it("are refused as a whole where the protocol has none", async () => {
    await using scene = new Scene();
    scene.say([ping, { method: "note" }]);
    expect(await scene.hear()).toEqual(errorAnswer(null, -32600, "Invalid request: batches are not served here"));
    expect([scene.notified, scene.unreadable]).toEqual([[], ["a batch, which the negotiated protocol does not have"]]);
  });

  it("are answered by one array when the last request is done", async () => {
    await using scene = new Scene();
    scene.peer.batchObjection = undefined;
    scene.say([
      { id: 1, method: "work" },
      { method: "note", params: 5 },
      { id: 2, method: "echo", params: "b" },
      { id: 3, method: 7 },
    ]);
    expect(await scene.heardUntilNow()).toEqual([]);
    expect(scene.notified).toEqual([["note", 5]]);
    scene.work.get(1)?.done.resolve("a");
    expect(await scene.hear()).toEqual([
      errorAnswer(3, -32600, "Invalid request: `method` must be a string"),
      resultAnswer(2, "b"),
      resultAnswer(1, "a"),
    ]);
  });

  it("leave out cancelled requests, and get no answer if none is left", async () => {
    await using scene = new Scene();
    scene.peer.batchObjection = undefined;
    scene.say(
      [
        { id: 1, method: "work" },
        { id: 2, method: "work" },
      ],
      [{ id: 3, method: "work" }],
    );
    await scene.heardUntilNow();
    for (const id of [1, 3]) scene.peer.cancel(id, GONE);
    for (const id of [3, 1, 2]) scene.work.get(id)?.done.resolve(id);
    expect(await scene.heardUntilNow()).toEqual([[resultAnswer(2, 2)]]);
  });

  it("of notifications and responses get no answer", async () => {
    await using scene = new Scene();
    scene.peer.batchObjection = undefined;
    const asked = scene.peer.request("ask", {});
    await scene.hear();
    scene.say([{ method: "note" }, { id: 0, result: "answer" }]);
    expect([await asked, await scene.heardUntilNow(), scene.notified]).toEqual(["answer", [], [["note", undefined]]]);
  });

  it("without entries are invalid", async () => {
    await using scene = new Scene();
    scene.peer.batchObjection = undefined;
    scene.say([]);
    expect(await scene.hear()).toEqual(errorAnswer(null, -32600, "Invalid request: an empty batch"));
  });

  it("with one id twice serve the first and refuse the second", async () => {
    await using scene = new Scene();
    scene.peer.batchObjection = undefined;
    scene.say([ping, ping]);
    expect(await scene.hear()).toEqual([errorAnswer(1, -32600, "a request with this id is already in flight"), resultAnswer(1, "pong")]);
  });
});

describe("an invalid message", () => {
  it("is reported, answered if possible, and the connection continues", async () => {
    await using scene = new Scene();
    scene.say("noise", "{broken", { id: 1, method: "echo", params: "still here" });
    expect([await scene.hear(), await scene.hear()]).toEqual([
      errorAnswer(null, -32700, "Parse error: the line is not valid JSON"),
      resultAnswer(1, "still here"),
    ]);
    expect(scene.unreadable).toEqual(["5 characters that are not JSON", "7 characters that are not JSON"]);
  });

  it("and exceeds the limit is refused with its length", async () => {
    const sent: string[] = [];
    const reported: string[] = [];
    const wire: Wire = {
      incoming: (async function* () {
        yield { tooLongBytes: 99 };
        yield { text: '{"id":1,"method":"ping"}' };
      })(),
      send: (text) => sent.push(text),
      congested: () => undefined,
      close: async () => {},
    };
    const peer = new JsonRpcPeer(wire, {
      answer: async () => ({}),
      notified: () => {},
      unreadable: (reason) => reported.push(reason),
      failed: () => "it failed",
    });
    await peer.run(wire.incoming);
    await peer.idle();
    expect(sent.map((text) => JSON.parse(text))).toEqual([
      errorAnswer(null, -32600, "Message refused: 99 characters exceed this server's limit for one message"),
      resultAnswer(1, {}),
    ]);
    expect(reported).toEqual(["a message of 99 characters was refused"]);
  });
});

it("notifications reach their receiver with their parameters", async () => {
  await using scene = new Scene();
  scene.say({ method: "notifications/initialized" }, { method: "note", params: [1] });
  await scene.heardUntilNow();
  expect(scene.notified).toEqual([
    ["notifications/initialized", undefined],
    ["note", [1]],
  ]);
  scene.peer.notify("codex/event", { id: "1" });
  scene.peer.notifyText('{"jsonrpc":"2.0","method":"codex/event","params":{"id":"2"}}');
  expect([await scene.hear(), await scene.hear()]).toEqual([
    { jsonrpc: "2.0", method: "codex/event", params: { id: "1" } },
    { jsonrpc: "2.0", method: "codex/event", params: { id: "2" } },
  ]);
});

it("messages about a request name it to the wire", async () => {
  const sent: unknown[] = [];
  const wire: Wire = {
    incoming: (async function* () {
      yield { text: '{"id":"a","method":"ping"}' };
    })(),
    send: (text, about) => sent.push([JSON.parse(text).id ?? JSON.parse(text).method, about]),
    congested: () => undefined,
    close: async () => {},
  };
  const peer = new JsonRpcPeer(wire, { answer: async () => ({}), notified: () => {}, unreadable: () => {}, failed: () => "it failed" });
  await peer.run(wire.incoming);
  await peer.idle();
  peer.notify("codex/event", {}, { relatedTo: "a" });
  expect(sent).toEqual([
    ["a", { relatedTo: "a", answer: "given" }],
    ["codex/event", { relatedTo: "a" }],
  ]);
});

describe("a peer that closes", () => {
  it("rejects its own requests, aborts those it serves, and sends nothing afterwards", async () => {
    await using scene = new Scene();
    scene.peer.batchObjection = undefined;
    scene.say({ id: 1, method: "work" }, [
      { id: 2, method: "echo", params: "collected" },
      { id: 3, method: "work" },
    ]);
    await scene.heardUntilNow();
    const asked = scene.peer.request("ask", {});
    await scene.hear();
    scene.peer.close(GONE);
    scene.peer.close(new Error("again"));
    await expect(asked).rejects.toBe(GONE);
    expect([1, 3].map((id) => scene.work.get(id)?.request.signal.reason)).toEqual([GONE, GONE]);

    for (const id of [1, 3]) scene.work.get(id)?.done.resolve("late");
    scene.peer.notify("codex/event", {});
    await expect(scene.peer.request("ask", {})).rejects.toBe(GONE);
    scene.say({ id: 4, method: "echo" }, "{broken", { id: 0, result: "late" });
    await scene.peer.idle();
    await scene[Symbol.asyncDispose]();
    expect(await scene.hear()).toBe("the end");
  });

  it("has answered requests until then, although the other side had closed its half", async () => {
    const sent: string[] = [];
    const work = deferred<string>();
    const wire: Wire = {
      incoming: (async function* () {
        yield { text: '{"id":1,"method":"work"}' };
      })(),
      send: (text) => sent.push(text),
      congested: () => undefined,
      close: async () => {},
    };
    const peer = new JsonRpcPeer(wire, { answer: () => work.promise, notified: () => {}, unreadable: () => {}, failed: () => "it failed" });
    await peer.run(wire.incoming);
    work.resolve("done");
    await peer.idle();
    expect(sent).toEqual(['{"id":1,"jsonrpc":"2.0","result":"done"}']);
  });
});

describe("a peer", () => {
  it("is idle at once if it serves nothing", async () => {
    await using scene = new Scene();
    await expect(scene.peer.idle()).resolves.toBeUndefined();
  });

  it("becomes idle each time the last request is done", async () => {
    await using scene = new Scene();
    const order: string[] = [];
    for (const round of ["first", "second"]) {
      scene.say({ id: round, method: "work" }, { id: "other", method: "work" });
      await scene.heardUntilNow();
      const idle = scene.peer.idle().then(() => order.push(`idle after ${round}`));
      scene.work.get("other")?.done.resolve("");
      expect(await scene.hear()).toEqual(resultAnswer("other", ""));
      order.push(`${round} still runs`);
      scene.work.get(round)?.done.resolve("");
      expect(await scene.hear()).toEqual(resultAnswer(round, ""));
      await idle;
    }
    expect(order).toEqual(["first still runs", "idle after first", "second still runs", "idle after second"]);
  });
});
