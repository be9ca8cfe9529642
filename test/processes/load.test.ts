import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { completed } from "../support/callResults.js";
import { eventually } from "../support/eventually.js";
import { mockProvider } from "../support/model/mockProvider.js";
import { startResponsesServer } from "../support/model/responsesServer.js";
import { type McpServer, startServer } from "../support/processes/mcpServer.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { spokenOn } from "../support/threads/storedThread.js";

const TIMEOUT_MS = 60_000;
const MEBIBYTE = 1024 * 1024;
const MEMORY_CAN_BE_SEEN = existsSync("/proc/self/status");

describe("large and many", { timeout: TIMEOUT_MS }, () => {
  it("a prompt of 5 MB reaches the model whole, and so does its answer the client", async () => {
    await using model = await startResponsesServer();
    await using server = await startServer({
      args: ["--engine", "native", "-c", "mcp_server.result_tokens=2000000"],
      config: mockProvider(model.url),
    });
    const text = "ěščř".repeat(5_000_000 / 8);
    const call = server.call("codex", { prompt: `!say ${text}` });
    const result = await call.result();
    // Compared as booleans, because a difference in 5 MB cannot be printed.
    expect([valueAt(result, "structuredContent.content") === text, valueAt(result, "content.0.text") === text]).toEqual([true, true]);
    expect(JSON.stringify(model.requests[0]?.body.input.at(-1)).length).toBeGreaterThan(text.length);
  });

  it("200 turns on one thread are all stored, and the model gets all of them", async () => {
    await using model = await startResponsesServer();
    await using server = await startServer({ args: ["--engine", "native"], config: mockProvider(model.url) });
    const first = server.call("codex", { prompt: "!say answer 0" });
    await first.result();
    const threadId = await first.threadId();
    for (let turn = 1; turn < 200; turn++) {
      const result = await server.call("codex-reply", { threadId, prompt: `!say answer ${turn}` }).result();
      expect(result).toEqual(completed(threadId, `answer ${turn}`, "native"));
    }
    const said = Array.from({ length: 200 }, (_, turn) => [`!say answer ${turn}`, `answer ${turn}`]).flat();
    expect(spokenOn(server.stage, threadId).map((entry) => entry.replace(/^\w+: /, ""))).toEqual(said);
    expect(model.requests.at(-1)?.body.input.slice(2)).toMatchObject(said.slice(0, -1).map((text) => ({ content: [{ text }] })));
  });

  it("100 simultaneous calls are all answered, each with its own thread and words", async () => {
    await using server = await startServer();
    const calls = Array.from({ length: 100 }, (_, index) =>
      server.call("codex", { prompt: `!delay 5\n!think thought ${index}\n!say answer of call ${index}` }),
    );
    const results = await Promise.all(calls.map((call) => call.result()));
    const threadIds = await Promise.all(calls.map((call) => call.threadId()));
    expect(new Set(threadIds).size).toEqual(100);
    expect(results).toEqual(threadIds.map((threadId, index) => completed(threadId, `answer of call ${index}`)));
    for (const [index, { events }] of calls.entries()) {
      const deltas = events.filter(({ type }) => type === "agent_message_delta").map(({ delta }) => delta);
      expect(deltas.join("")).toEqual(`answer of call ${index}`);
      const threads = events.flatMap(({ thread_id: id }) => id ?? []);
      expect(new Set(threads)).toEqual(new Set([threadIds[index]]));
    }
  });

  it("a message of 65 MiB is refused with an error, and the stream goes on", async () => {
    await using server = await startServer();
    server.write('{"jsonrpc":"2.0","id":"long","method":"ping","params":{"filler":"');
    for (let written = 0; written < 65; written++) server.write("x".repeat(MEBIBYTE));
    server.write('"}}\n');
    expect(await server.answer(null)).toEqual({
      id: null,
      jsonrpc: "2.0",
      error: { code: -32600, message: expect.stringMatching(/^Message refused: \d+ characters exceed this server/) },
    });
    const call = server.call("codex", { prompt: "!say still here" });
    expect(await call.result()).toEqual(completed(await call.threadId(), "still here"));
    expect(server.answersTo("long")).toEqual([]);
  });
});

describe.runIf(MEMORY_CAN_BE_SEEN)("a client that does not read", { timeout: TIMEOUT_MS }, () => {
  it("during 20,000 deltas costs little memory, and gets everything in order when it reads again", async () => {
    const { answer, deltas, grown } = await readLate({ words: 20_000 });
    expect([answer, deltas]).toEqual([numberedWords(20_000).join(""), numberedWords(20_000)]);
    expect(grown).toBeLessThan(100 * MEBIBYTE);
  });

  it("during more data than the server keeps costs a bounded amount of memory, and gets the whole answer when it reads again", async () => {
    const { answer, grown } = await readLate({ words: 100_000 });
    expect(answer === numberedWords(100_000).join("")).toBe(true);
    expect(grown).toBeLessThan(130 * MEBIBYTE);
  });

  it("but continues to send requests is not read for a while, and gets every answer when it reads again", async () => {
    await using server = await startServer();
    await server.initialize();
    const before = memoryOf(server).now;
    server.process.pauseStdout();
    const ids = Array.from({ length: 100 }, (_, index) => `asked-${index}`);
    const method = "m".repeat(MEBIBYTE);
    for (const id of ids) server.send({ jsonrpc: "2.0", id, method });
    await server.process.waitForInputTaken(500);
    const grown = memoryOf(server).peak - before;
    server.process.resumeStdout();
    for (const id of ids) expect(await server.answer(id)).toMatchObject({ error: { code: -32601 } });
    expect(grown).toBeLessThan(100 * MEBIBYTE);
  });
});

/** A client that reads nothing until the turn has ended. */
async function readLate({ words }: { words: number }): Promise<{ answer: unknown; deltas: unknown[]; grown: number }> {
  await using model = await startResponsesServer();
  await using server = await startServer({ args: ["--engine", "native"], config: mockProvider(model.url) });
  const warmUp = server.call("codex", { prompt: "!tokens 1000" });
  await warmUp.result();
  const threadId = await warmUp.threadId();
  const before = memoryOf(server).now;
  server.process.pauseStdout();
  const call = server.call("codex-reply", { threadId, prompt: `!tokens ${words}`, "result-tokens": 1_000_000 });
  await eventually("the answer is on disk", () => spokenOn(server.stage, threadId).length === 4 || undefined);
  server.process.resumeStdout();
  const answer = valueAt(await call.result(), "structuredContent.content");
  const deltas = call.events.filter(({ type }) => type === "agent_message_delta").map(({ delta }) => delta);
  return { answer, deltas, grown: memoryOf(server).peak - before };
}

function numberedWords(count: number): string[] {
  return Array.from({ length: count }, (_, word) => `w${word} `);
}

/** The resident memory of the process, now and at its peak, in bytes. */
function memoryOf({ process: { pid } }: McpServer): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const bytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1]) * 1024;
  return { now: bytes("VmRSS"), peak: bytes("VmHWM") };
}
