import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { memoryWires } from "../../../../test/support/memory/memoryWires.js";
import { deferred } from "../../../lib/promises.js";
import { AppServer } from "./appServer.js";
import type { AppServerGone } from "./errors.js";

beforeEach(() => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] }));
afterEach(() => vi.useRealTimers());

/** A Codex that answers these methods and no other. */
function appServerAnswering(...methods: readonly string[]) {
  const [wire, other] = memoryWires();
  const gone = deferred<AppServerGone>();
  const end = async (reason: AppServerGone) => {
    gone.resolve(reason);
    await wire.close();
  };
  const server = new AppServer({ wire, pid: 1, gone: gone.promise, close: end, kill: end }, () => {});
  const asked: string[] = [];
  const notify = (method: string, params: object) => other.send(JSON.stringify({ method, params }));
  const answering = (async () => {
    for await (const frame of other.incoming) {
      const { id, method } = JSON.parse("text" in frame ? frame.text : "{}") as { id: number; method: string };
      asked.push(method);
      if (methods.includes(method)) other.send(JSON.stringify({ id, result: {} }));
    }
  })();
  return { server, asked, notify, over: Promise.all([server.run(), answering]) };
}

it("a process that hangs is killed after a request that it did not answer, so that the next call gets another one", async () => {
  const { server, asked, over } = appServerAnswering();
  const silence = expect(server.request("config/read", {})).rejects.toThrow("Codex did not answer config/read within 30 s.");
  await vi.advanceTimersByTimeAsync(30_000);
  await silence;
  expect(server.isGone).toBe(false);
  await vi.advanceTimersByTimeAsync(31_000);
  await over;
  expect([server.isGone, (await server.gone).message, asked]).toEqual([
    true,
    "The Codex process was ended because it no longer responded.",
    ["config/read", "thread/loaded/list"],
  ]);
});

it("a process that answers other requests is not killed", async () => {
  const { server, asked } = appServerAnswering("thread/loaded/list");
  const silence = expect(server.request("thread/start", {})).rejects.toThrow("Codex did not answer thread/start within 30 s.");
  await vi.advanceTimersByTimeAsync(30_000);
  await silence;
  await vi.advanceTimersByTimeAsync(31_000);
  expect([server.isGone, asked]).toEqual([false, ["thread/start", "thread/loaded/list"]]);
});

it("a warning about the settings of a thread that opens reaches no other thread, but one about Codex itself reaches all", async () => {
  const { server, notify } = appServerAnswering("config/read");
  const heard: unknown[] = [];
  const asked = () => Promise.reject(new Error("nothing is asked"));
  server.listen("old", { notified: (method, params) => heard.push([method, params]), asked, lost: () => undefined });
  const opening = expect(server.request("thread/start", {}, { timeoutMs: 1_000 })).rejects.toThrow("did not answer");
  notify("configWarning", { summary: "`nonsense` is ignored" });
  notify("warning", { threadId: "new", message: "`nonsense` is ignored" });
  await vi.advanceTimersByTimeAsync(1_000);
  await opening;
  expect(heard).toEqual([]);
  notify("configWarning", { summary: "config.toml changed" });
  await server.request("config/read", {});
  expect(heard).toEqual([["configWarning", { summary: "config.toml changed" }]]);
});
