import { appendFile, mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { threadIdOf } from "../../src/lib/ids.js";
import { findRollout } from "../../src/stores/files/threads/rolloutPaths.js";
import { ConsoleStage, isWithoutBrowser } from "../support/console/consoleStage.js";

/** Enough findings that the patch and the review are never rendered at the same time. */
const MESSAGES = 250;
const PATCH = "*** Begin Patch\n*** Add File: lib/made.js\n+const a = 1;\n+const b = a / 0;\n+export { b };\n*** End Patch";

describe.skipIf(isWithoutBrowser())("findings of a review", () => {
  let stage: ConsoleStage;
  let threadId: string;

  beforeAll(async () => {
    stage = await ConsoleStage.open();
    const { cwd } = stage;
    const answer = await fetch(`${stage.server.origin}/api/v1/threads`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ prompt: "!say begun", cwd, wait: 30 }),
    });
    threadId = ((await answer.json()) as { thread: { id: string } }).thread.id;
    await mkdir(path.join(cwd, "lib"));
    const text = Array.from({ length: 120 }, (_, at) => `  step(${at + 1}); // <b>${at + 1}</b>`).join("\n");
    await writeFile(path.join(cwd, "lib", "steps.js"), text);
    const file = await findRollout(stage.stage.codexHome, threadIdOf(threadId));
    if (file === undefined) throw new Error("the thread has no record");
    await appendFile(file, record(cwd));
  });

  afterAll(() => stage?.[Symbol.asyncDispose]());

  it.each(["light", "dark"] as const)(
    "lead to the line in a diff far outside the viewport, or to the file itself: %s",
    async (colorScheme) => {
      await using visitor = await stage.come({ colorScheme });
      const { page } = visitor;
      await visitor.goTo(`thread/${threadId}`);
      const box = page.getByRole("log");
      const review = page.getByRole("article", { name: "Review" });
      await review.waitFor();
      while ((await page.locator(".older").count()) > 0) await box.evaluate((element) => element.scrollTo({ top: 0 }));
      await page.getByText("begun", { exact: true }).waitFor();
      await page.getByRole("button", { name: "To the end" }).click();
      await review.waitFor();
      const helper = page.getByRole("article", { name: "Sub-agent" });
      expect(await helper.locator("summary").textContent()).toContain("checker");
      const row = page.locator("tr.line-added", { hasText: "const b = a / 0;" });
      await row.waitFor({ state: "detached" });

      await review.getByRole("button", { name: "lib/steps.js:60-62" }).click();
      const panel = page.getByRole("region", { name: /Lines of .*steps\.js/ });
      await panel.getByText("lines 40–82 of 120").waitFor();
      expect(await panel.locator(".line-marked .number").allTextContents()).toEqual(["60", "61", "62"]);
      expect(await panel.locator(".line-marked .code").first().textContent()).toBe("  step(60); // <b>60</b>");
      const [marked, text] = [await panel.locator(".line-marked").first().boundingBox(), await panel.locator(".diff").boundingBox()];
      expect(marked && text && marked.y > text.y && marked.y < text.y + text.height).toBe(true);
      expect(await visitor.accessibilityFaults()).toEqual([]);
      await visitor.picture(`findings-${colorScheme}`);
      await panel.getByRole("button", { name: "Close" }).click();
      await panel.waitFor({ state: "detached" });
      await review.getByRole("button", { name: "elsewhere.txt" }).click();
      await review.getByText("There is no file").waitFor();

      await review.getByRole("button", { name: "lib/made.js:2" }).click();
      await page.locator("tr.is-shown", { hasText: "const b = a / 0;" }).waitFor();
      await expect
        .poll(async () => {
          const [line, shown] = [await row.boundingBox(), await box.boundingBox()];
          return line !== null && shown !== null && line.y >= shown.y && line.y + line.height <= shown.y + shown.height;
        })
        .toBe(true);
    },
  );
});

function record(cwd: string): string {
  const line = (type: string, payload: unknown) =>
    `${JSON.stringify({ timestamp: new Date(Date.UTC(2026, 0, 1)).toISOString(), type, payload })}\n`;
  const said = (role: "user" | "assistant", text: string) => {
    const kind = role === "user" ? "input_text" : "output_text";
    return line("response_item", { type: "message", role, content: [{ type: kind, text }] });
  };
  const found = [
    "Two things are wrong.",
    `- [P1] Division by zero — ${cwd}/lib/made.js:2-2`,
    "  `b` is never a number.",
    `- [P2] Steps are not awaited — ${cwd}/lib/steps.js:60-62`,
    "  They run at once.",
    `- [P3] A name that leads nowhere — ${cwd}/elsewhere.txt:1-1`,
    "  It was removed.",
  ].join("\n");
  return [
    said("user", "make it"),
    line("event_msg", { type: "user_message", message: "make it", images: [], local_images: [], text_elements: [] }),
    line("response_item", { type: "custom_tool_call", status: "completed", call_id: "patch-1", name: "apply_patch", input: PATCH }),
    line("response_item", { type: "custom_tool_call_output", call_id: "patch-1", output: "Success." }),
    ...Array.from({ length: MESSAGES }, (_, at) => said("assistant", `remark ${at}`)),
    line("response_item", {
      type: "function_call",
      name: "spawn_agent",
      call_id: "agent-1",
      arguments: JSON.stringify({ task_name: "checker", message: "Look for what is wrong." }),
    }),
    line("response_item", { type: "function_call_output", call_id: "agent-1", output: "{}" }),
    line("event_msg", { type: "entered_review_mode", target: { type: "uncommittedChanges" }, user_facing_hint: "current changes" }),
    line("event_msg", { type: "exited_review_mode", review_output: { overall_explanation: found } }),
  ].join("");
}
