import { appendFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ItemPage } from "../../src/api/schemas/items.js";
import { threadIdOf } from "../../src/lib/ids.js";
import { findRollout } from "../../src/stores/files/threads/rolloutPaths.js";
import { ConsoleStage, isWithoutBrowser } from "../support/console/consoleStage.js";

const TURNS = 3_333;
/** All items together would need about ten times as many nodes. */
const MOST_NODES = 12_000;

describe.skipIf(isWithoutBrowser())("a thread of ten thousand items", () => {
  let stage: ConsoleStage;
  let threadId: string;

  beforeAll(async () => {
    stage = await ConsoleStage.open();
    const answer = await fetch(`${stage.server.origin}/api/v1/threads`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ prompt: "!say the very first answer", cwd: stage.cwd, wait: 30 }),
    });
    threadId = ((await answer.json()) as { thread: { id: string } }).thread.id;
    const file = await findRollout(stage.stage.codexHome, threadIdOf(threadId));
    if (file === undefined) throw new Error("the thread has no record");
    await appendFile(file, Array.from({ length: TURNS }, (_, at) => turnLines(at)).join(""));
  });

  afterAll(() => stage?.[Symbol.asyncDispose]());

  it("has few nodes on the page at any time, from its end to its beginning and back", async () => {
    await using visitor = await stage.come();
    const { page } = visitor;
    await visitor.goTo(`thread/${threadId}`);
    const box = page.getByRole("log");
    await page.getByText(`answer ${TURNS - 1}.`, { exact: true }).waitFor();
    let most = 0;
    for (;;) {
      most = Math.max(most, await page.locator("*").count());
      if ((await page.locator(".older").count()) === 0) break;
      await box.evaluate((element) => element.scrollTo({ top: 0 }));
    }
    await box.evaluate((element) => element.scrollTo({ top: 0 }));
    await page.getByText("the very first answer", { exact: true }).waitFor();
    for (const part of [0.25, 0.5, 0.75]) {
      await box.evaluate((element, to) => element.scrollTo({ top: element.scrollHeight * to }), part);
      // The element in the middle is a rendered item, and not a placeholder.
      await expect
        .poll(() =>
          box.evaluate((element) => {
            const { top, height } = element.getBoundingClientRect();
            const isNear = (item: typeof element) => Math.abs(item.getBoundingClientRect().top - top - height / 2) < height / 4;
            return [...element.querySelectorAll<typeof element>(".item")].some(isNear);
          }),
        )
        .toBe(true);
      most = Math.max(most, await page.locator("*").count());
    }
    await page.getByRole("button", { name: "To the end" }).click();
    await page.getByText(`answer ${TURNS - 1}.`, { exact: true }).waitFor();
    expect(most).toBeLessThan(MOST_NODES);
  });

  it("gives each item once, by pages", async () => {
    const seen = new Set<string>();
    let cursor: string | null = "";
    let count = 0;
    while (cursor !== null) {
      const answer = await fetch(`${stage.server.origin}/api/v1/threads/${threadId}/items?limit=200${cursor && `&cursor=${cursor}`}`);
      const page = (await answer.json()) as ItemPage;
      for (const { id } of page.items) seen.add(id);
      count += page.items.length;
      cursor = page.nextCursor;
    }
    expect([seen.size, count]).toEqual([(TURNS + 1) * 3, (TURNS + 1) * 3]);
  });
});

function turnLines(at: number): string {
  const time = new Date(Date.UTC(2026, 0, 1) + at * 1_000).toISOString();
  const line = (type: string, payload: unknown) => `${JSON.stringify({ timestamp: time, type, payload })}\n`;
  const [question, answer] = [`question ${at}`, `answer ${at}.`];
  return [
    line("event_msg", { type: "task_started", turn_id: String(at), model_context_window: null }),
    line("response_item", { type: "message", role: "user", content: [{ type: "input_text", text: question }] }),
    line("event_msg", { type: "user_message", message: question, images: [], local_images: [], text_elements: [] }),
    line("response_item", { type: "message", role: "assistant", content: [{ type: "output_text", text: answer }] }),
    line("event_msg", { type: "task_complete", turn_id: String(at), last_agent_message: answer }),
  ].join("");
}
