import { describe, expect, it, onTestFinished, vi } from "vitest";
import { startLoopback } from "../../../../test/support/http/loopback.js";
import { NOBODY_LISTENS } from "../../../../test/support/model/mockProvider.js";
import { settingsIn } from "../../../../test/support/threads/rollouts.js";
import type { ModelProvider } from "../../../threads/settings.js";
import { ModelLists } from "./modelLists.js";

const unending = new AbortController().signal;

function lists(env: NodeJS.ProcessEnv = {}): ModelLists {
  const made = new ModelLists({ env, codexHome: "/nowhere", userAgent: "test/1" });
  onTestFinished(() => made[Symbol.asyncDispose]());
  return made;
}

function at(baseUrl: string, changes: Partial<ModelProvider> = {}): ModelProvider {
  return { ...settingsIn("/").provider, baseUrl, ...changes };
}

async function offering(body: unknown, status = 200) {
  let asked = 0;
  const server = await startLoopback((_, response) => {
    asked++;
    response.writeHead(status, { "content-type": "application/json" }).end(typeof body === "string" ? body : JSON.stringify(body));
  });
  return { server, provider: at(`${server.origin}/v1`), asked: () => asked };
}

describe("the list of a provider", () => {
  it("is read in OpenAI's and in Codex's format, with the properties of each model", async () => {
    const { server, provider } = await offering({
      data: [
        { id: "one", created: 5, shutdown_date: "2026-12-01" },
        { id: "two", shutdown_date: 1_790_000_000 },
      ],
      models: [{ slug: "three", supported_reasoning_levels: [{ effort: "low" }, { effort: "ultra" }] }],
    });
    await using _ = server;
    expect(await lists().read(provider, unending)).toEqual({
      kind: "read",
      isWhole: true,
      models: [
        { name: "one", created: 5, shutdown: new Date("2026-12-01") },
        { name: "two", shutdown: new Date(1_790_000_000_000) },
        { name: "three", efforts: ["low", "ultra"] },
      ],
    });
  });

  it("has only valid efforts, up to a limit", async () => {
    const levels = [
      "low",
      "high\u001b[31m",
      { effort: "two\nlines" },
      "x".repeat(5_000),
      "a sentence",
      ...Array<string>(50_000).fill("low"),
    ];
    const { server, provider } = await offering({ data: [{ id: "a", supported_reasoning_levels: levels }] });
    await using _ = server;
    const listing = await lists().read(provider, unending);
    const efforts = (listing.kind === "read" && listing.models[0]?.efforts) || [];
    expect([new Set(efforts), efforts.length <= 16]).toEqual([new Set(["low"]), true]);
  });

  it.each([
    ["more pages", { data: [{ id: "a" }], has_more: true }],
    ["entries that are no models", { data: [{ id: "a" }, null, { id: 2 }, { id: "" }] }],
    [
      "names that belong into no text",
      { data: [{ id: "a" }, { id: "b\u001b[2J" }, { id: "c".repeat(201) }, { id: "\u202etpg" }, { id: "e\u2028f" }, { id: "g\u200bh" }] },
    ],
  ])("with %s is incomplete: a missing name may exist", async (_what, body) => {
    const { server, provider } = await offering(body);
    await using _ = server;
    expect(await lists().read(provider, unending)).toEqual({ kind: "read", isWhole: false, models: [{ name: "a" }] });
  });

  it.each([
    ["that is missing", "{}", 404, "returned status 404"],
    ["that is forbidden", "{}", 403, "returned status 403"],
    ["that is something else", "<html>", 200, "did not return a list"],
    ["that is no list", "[]", 200, "did not return a list"],
    ["that is huge", `{"data":[{"id":"${"x".repeat(5_000_000)}"}]}`, 200, "too large to read"],
  ])("%s is reported as unread", async (_what, body, status, why) => {
    const { server, provider } = await offering(body, status);
    await using _ = server;
    expect(await lists().read(provider, unending)).toMatchObject({ kind: "unread", status, why: expect.stringContaining(why) });
  });

  it.each([
    ["cannot be reached", { baseUrl: NOBODY_LISTENS }, "cannot be reached"],
    ["has no address", { baseUrl: "nonsense" }, "must begin with http"],
    ["needs a key that is not there", { envKey: "MY_KEY" }, "Missing environment variable"],
  ])("of a provider that %s is reported as unread, without a status", async (_what, changes, why) => {
    const listing = await lists().read(at(NOBODY_LISTENS, changes), unending);
    expect(listing).toEqual({ kind: "unread", why: expect.stringContaining(why) });
  });

  it("that does not arrive is given up after ten seconds", async () => {
    vi.spyOn(AbortSignal, "timeout").mockImplementation(() => AbortSignal.abort(new Error("late")));
    onTestFinished(() => void vi.restoreAllMocks());
    await using server = await startLoopback((_, response) => void response.writeHead(200).write("{"));
    expect(await lists().read(at(`${server.origin}/v1`), unending)).toMatchObject({
      kind: "unread",
      why: expect.stringContaining("10 seconds"),
    });
  });

  it("is requested once for all callers at the same time, and then kept for a day", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const { server, provider, asked } = await offering({ data: [{ id: "a" }] });
    await using _ = server;
    const kept = lists();
    expect(kept.known(provider)).toBeUndefined();
    await Promise.all([kept.read(provider, unending), kept.read(provider, unending), kept.read(provider, unending)]);
    expect([asked(), kept.known(provider)]).toEqual([1, { kind: "read", isWhole: true, models: [{ name: "a" }] }]);
    vi.setSystemTime(Date.now() + 24 * 60 * 60_000);
    expect(kept.known(provider)).toBeUndefined();
  });

  it("that could not be read is requested again after a minute", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const { server, provider } = await offering({}, 500);
    await using _ = server;
    const kept = lists();
    await kept.read(provider, unending);
    expect(kept.known(provider)?.kind).toBe("unread");
    vi.setSystemTime(Date.now() + 60_000);
    expect(kept.known(provider)).toBeUndefined();
  });

  it("belongs to a key: another one may be offered other models", async () => {
    const { server, provider } = await offering({ data: [{ id: "a" }] });
    await using _ = server;
    const env: NodeJS.ProcessEnv = { MY_KEY: "one" };
    const kept = lists(env);
    const mine = { ...provider, envKey: "MY_KEY" };
    await kept.read(mine, unending);
    expect(kept.known(mine)).toBeDefined();
    env["MY_KEY"] = "two";
    expect(kept.known(mine)).toBeUndefined();
  });

  it("is not waited for by a cancelled request, nor by a server that ends", async () => {
    vi.spyOn(AbortSignal, "timeout").mockImplementation(() => new AbortController().signal);
    onTestFinished(() => void vi.restoreAllMocks());
    await using server = await startLoopback(() => undefined);
    const kept = lists();
    const abort = new AbortController();
    const reading = kept.read(at(`${server.origin}/v1`), abort.signal);
    abort.abort(new Error("not wanted any more"));
    await expect(reading).rejects.toThrow("not wanted any more");
    await kept[Symbol.asyncDispose]();
  });
});
