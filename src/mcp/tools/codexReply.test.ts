import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { completed, failed, noSuchThread, refused, refusedOn } from "../../../test/support/callResults.js";
import { MemorySession, threadOf } from "../../../test/support/memory/memorySession.js";
import { rolloutFile, spokenOn } from "../../../test/support/threads/storedThread.js";
import { threadIdOf } from "../../lib/ids.js";

const NOBODY = "0199a213-81c0-7800-8aa1-bbab2a035a53";

describe("a reply", () => {
  it("continues the thread; its events belong to turn 0, 1, …", async () => {
    await using client = new MemorySession();
    const threadId = threadOf(await client.call("codex", { prompt: "!say one" }, "first"));
    expect(await client.call("codex-reply", { threadId, prompt: "!say two" }, "second")).toEqual(completed(threadId, "two"));
    await client.call("codex-reply", { threadId, prompt: "!say three" }, "third");
    const turns = ["first", "second", "third"].map((id) => client.eventsOf(id).find(({ type }) => type === "item_started")?.["turn_id"]);
    expect(turns).toEqual(["first", "0", "1"]);
    expect(client.eventTypesOf("second")[0]).toBe("task_started");
    expect(spokenOn(client, threadId)).toEqual([
      "user: !say one",
      "assistant: one",
      "user: !say two",
      "assistant: two",
      "user: !say three",
      "assistant: three",
    ]);
  });

  it.for([
    ["by its older name", (id: string) => ({ conversationId: id })],
    ["in capitals", (id: string) => ({ threadId: id.toUpperCase() })],
    ["in both ways, and the newer wins", (id: string) => ({ threadId: id, conversationId: NOBODY })],
  ] as const)("may name the thread %s", async ([, named]) => {
    await using client = new MemorySession();
    const threadId = threadOf(await client.call("codex", { prompt: "!say one" }));
    expect(await client.call("codex-reply", { ...named(threadId), prompt: "!say two" })).toEqual(completed(threadId, "two"));
  });

  it("continues a thread of an earlier session", async () => {
    await using before = new MemorySession();
    const threadId = threadOf(await before.call("codex", { prompt: "!say one", model: "mock-other" }));
    await using after = new MemorySession({ codexHome: before.codexHome });
    expect(await after.call("codex-reply", { threadId, prompt: "!say two" })).toEqual(completed(threadId, "two"));
    expect(spokenOn(after, threadId)).toEqual(["user: !say one", "assistant: one", "user: !say two", "assistant: two"]);
  });

  it("waits while another turn of the thread runs; each call gets its own answer", async () => {
    await using client = new MemorySession();
    const threadId = threadOf(await client.call("codex", { prompt: "!say one" }));
    const replies = await Promise.all(["a", "b", "c"].map((word) => client.call("codex-reply", { threadId, prompt: `!say ${word}` })));
    expect(replies).toEqual(["a", "b", "c"].map((word) => completed(threadId, word)));
  });

  it("works as usual after a turn that failed", async () => {
    await using client = new MemorySession();
    const threadId = threadOf(await client.call("codex", { prompt: "!status 400 no" }));
    expect([
      await client.call("codex-reply", { threadId, prompt: "!status 400 again" }),
      await client.call("codex-reply", { threadId, prompt: "!say fine" }),
    ]).toEqual([failed(threadId, "again"), completed(threadId, "fine")]);
  });
});

it("a reply to an archived thread brings it back into the list, with its history", async () => {
  await using client = new MemorySession();
  const { agent } = client.agent.open;
  const ask = { caller: undefined, signal: new AbortController().signal };
  const threadId = threadOf(await client.call("codex", { prompt: "!say one" }));
  const listed = async (archived: boolean) => (await agent.list(ask, { limit: 5, archived })).threads.map(({ id }) => id);
  await agent.archive(ask, threadIdOf(threadId));
  expect([await listed(false), await listed(true)]).toEqual([[], [threadId]]);
  expect(await client.call("codex-reply", { prompt: "!say two", threadId })).toEqual(completed(threadId, "two"));
  expect([await listed(false), await listed(true)]).toEqual([[threadId], []]);
  await client.agent.open.settle();
  const said = readFileSync(rolloutFile(client, threadId), "utf8");
  expect([said.includes("!say one"), said.includes("!say two")]).toEqual([true, true]);
});

const WHERE_IDS_ARE =
  ". The threadId is in the result of the call that began the thread; `codex-threads` lists the threads that you can continue.";

describe("a reply is refused", () => {
  it.for([
    [undefined, "Missing arguments for codex-reply tool-call; the `threadId` field is required."],
    [{ prompt: "go" }, `Failed to parse thread_id: either threadId or conversationId must be provided${WHERE_IDS_ARE}`],
    [{ prompt: "go", threadId: null }, `Failed to parse thread_id: either threadId or conversationId must be provided${WHERE_IDS_ARE}`],
    [
      { prompt: "go", threadId: "not-a-uuid" },
      "Failed to parse thread_id: invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found `n` at 1" +
        WHERE_IDS_ARE,
    ],
    [{ prompt: "go", threadId: "" }, `Failed to parse thread_id: either threadId or conversationId must be provided${WHERE_IDS_ARE}`],
    [
      { prompt: "go", threadId: "ab" },
      `Failed to parse thread_id: invalid length: expected length 32 for simple format, found 2${WHERE_IDS_ARE}`,
    ],
    [
      { prompt: "go", threadId: 5 },
      "Failed to parse configuration for Codex tool: `threadId`: invalid type: integer `5`, expected a string",
    ],
  ] as const)("with the arguments %j", async ([args, why]) => {
    await using client = new MemorySession();
    expect(await client.call("codex-reply", args)).toEqual(refused(why));
  });

  it("when the thread does not exist", async () => {
    await using client = new MemorySession();
    const why = noSuchThread(NOBODY);
    expect(await client.call("codex-reply", { prompt: "go", threadId: NOBODY })).toEqual(refusedOn(NOBODY, why));
  });

  it("when the thread's file is corrupt, with the reason, and the server goes on", async () => {
    await using before = new MemorySession();
    const threadId = threadOf(await before.call("codex", { prompt: "!say one" }));
    const file = rolloutFile(before, threadId);
    rmSync(file);
    writeFileSync(file, "no JSON at all\n");
    await using after = new MemorySession({ codexHome: before.codexHome });
    const result = await after.call("codex-reply", { prompt: "go", threadId });
    expect(result).toEqual(refusedOn(threadId, expect.stringContaining(file)));
    expect((await after.request("ping"))["result"]).toEqual({});
  });
});
