import { writeFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { MemorySession, threadOf } from "../../../test/support/memory/memorySession.js";
import { valueAt } from "../../../test/support/scenarios/scenario.js";

/** The form in a script, with escaped line breaks. */
const VERDICT = [
  "The change must not stay as it is.",
  "",
  "- [P0] Dates are read in local time — src/date.ts:14-18 (confidence 0.9)",
  "  Parse as UTC.",
  "- [P3] A test is skipped — test/date.test.ts",
];
const SAID = `!say ${VERDICT.join("\\n")}`;
const FINDINGS = [
  { priority: 0, title: "Dates are read in local time", file: "src/date.ts", lines: [14, 18], body: "Parse as UTC.", confidence: 0.9 },
  { priority: 3, title: "A test is skipped", file: "test/date.test.ts", lines: null, body: "", confidence: null },
];

const findingsOf = (result: unknown) => valueAt(result, "structuredContent.findings");

function review(client: MemorySession, instructions: string, more: object = {}): Promise<unknown> {
  return client.call("codex-review", { target: "custom", instructions, ...more });
}

it("a review gives its findings as data, and its text as it was written", async () => {
  await using client = new MemorySession();
  const result = await review(client, SAID);
  expect(findingsOf(result)).toEqual(FINDINGS);
  expect([valueAt(result, "structuredContent.content"), valueAt(result, "content.0.text")]).toEqual([
    VERDICT.join("\n"),
    VERDICT.join("\n"),
  ]);
});

it("codex-wait gives them too, when the call ended before the review", async () => {
  await using client = new MemorySession();
  const running = await review(client, `!shell until [ -e go ]; do sleep 0.05; done\n${SAID}`, { wait: 0 });
  expect([valueAt(running, "structuredContent.status"), findingsOf(running)]).toEqual(["running", undefined]);
  await writeFile(`${client.agent.folder}/go`, "");
  expect(findingsOf(await client.call("codex-wait", { threadId: threadOf(running) }))).toEqual(FINDINGS);
});

it("codex-wait returns them again when nothing runs any more, but not after a later turn", async () => {
  await using client = new MemorySession();
  const threadId = threadOf(await review(client, SAID));
  const again = await client.call("codex-wait", { threadId });
  expect([findingsOf(again), valueAt(again, "structuredContent.content")]).toEqual([FINDINGS, VERDICT.join("\n")]);
  await client.call("codex-reply", { threadId, prompt: SAID });
  expect(findingsOf(await client.call("codex-wait", { threadId }))).toBeUndefined();
});

it("a review without findings has an empty list; other turns have none, whatever they say", async () => {
  await using client = new MemorySession();
  expect(findingsOf(await review(client, "!say Fine as it is."))).toEqual([]);
  expect(findingsOf(await client.call("codex", { prompt: SAID }))).toBeUndefined();
});

it("a review that fails has no findings", async () => {
  await using client = new MemorySession();
  const result = await review(client, "!fail server_error broken");
  expect([valueAt(result, "structuredContent.status"), findingsOf(result)]).toEqual(["failed", undefined]);
});

it("the tokens of a review are those of its turn", async () => {
  await using client = new MemorySession();
  const result = await review(client, "!usage 40 2 Fine as it is.");
  const used = { input: 40, cachedInput: 0, output: 2, reasoning: 0, total: 42 };
  expect(valueAt(result, "structuredContent.usage")).toEqual({ turn: used, thread: used });
  const reply = await client.call("codex-reply", { threadId: threadOf(result), prompt: "!usage 50 3 Yes." });
  expect([valueAt(reply, "structuredContent.usage.turn.total"), valueAt(reply, "structuredContent.usage.thread.total")]).toEqual([53, 95]);
});
