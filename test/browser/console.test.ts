import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Visitor } from "../support/console/consoleBrowser.js";
import { ConsoleStage, isWithoutBrowser } from "../support/console/consoleStage.js";

/** An update of two lines, as a model writes it. */
const PATCH = "!rawpatch *** Begin Patch\\n*** Update File: greeting.txt\\n@@\\n hello\\n-old world\\n+new world\\n end\\n*** End Patch";

/** How long the first paint may take. Quiet machines need a quarter of it. */
const MOST_PAINT_MS = 1_000;

describe.skipIf(isWithoutBrowser())("the console", () => {
  let stage: ConsoleStage;
  let cwd: string;

  beforeAll(async () => {
    stage = await ConsoleStage.open();
    ({ cwd } = stage);
    await writeFile(path.join(cwd, "greeting.txt"), "hello\nold world\nend\n");
  });

  afterAll(() => stage?.[Symbol.asyncDispose]());

  it("starts a thread and shows the answer while it is written", async () => {
    await using visitor = await stage.come();
    const { page } = visitor;
    await visitor.start("!think Counting is easy\n!slow 60 40", { cwd });
    const answer = page.getByRole("article", { name: "Agent" });
    await expect.poll(() => answer.textContent()).toContain("w0");
    // The text appears before it is complete.
    expect(await answer.textContent()).not.toContain("w59");
    expect(await page.locator(".facts .state").textContent()).toBe("running");
    await visitor.picture("streaming");
    await expect.poll(() => answer.textContent()).toContain("w59");
    await page.getByText("completed", { exact: true }).waitFor();
    await expect.poll(() => page.locator(".facts .state").textContent()).toBe("idle");
  });

  it("shows a change by its diff, and makes it when it is approved", async () => {
    await using visitor = await stage.come();
    const { page } = visitor;
    await visitor.start(`${PATCH}\n!say # Done\\n\\nThe greeting is **new**.`, { cwd, policy: "untrusted" });
    await visitor.goTo("inbox");
    const card = page.getByRole("article", { name: "Change 1 file" });
    await card.locator(".line-removed", { hasText: "old world" }).waitFor();
    expect(await card.locator(".line-added").textContent()).toContain("new world");
    expect(await page.title()).toBe("(1) codex-mcpd");
    await visitor.picture("inbox-diff");
    await card.getByRole("button", { name: "Approve" }).click();
    await page.locator(".settled", { hasText: "greeting.txt" }).getByText("approved").waitFor();
    await expect.poll(() => readFile(path.join(cwd, "greeting.txt"), "utf8")).toBe("hello\nnew world\nend\n");
    await expect.poll(() => page.title()).toBe("codex-mcpd");
    await page.locator(".settled a").click();
    await page.getByRole("heading", { name: "Done", exact: true }).waitFor();
    await page.locator(".row-idle[aria-current=page]").waitFor();
    await visitor.picture("thread-patch");
  });

  it("passes the reason of a denial to the agent", async () => {
    await using visitor = await stage.come();
    const { page } = visitor;
    await visitor.start("!shell touch denied.txt\n!say understood", { cwd, policy: "untrusted" });
    const card = page.getByRole("article", { name: "Run a command" });
    expect(await card.locator(".command").textContent()).toBe("touch denied.txt");
    await page.locator(".item-command").waitFor();
    await visitor.picture("thread-asked");
    await card.getByRole("button", { name: "Deny…" }).click();
    await page.getByLabel("What should the agent do instead?").fill("Use the build folder.");
    await card.getByRole("button", { name: "Deny", exact: true }).click();
    await page.getByText("understood", { exact: true }).waitFor();
    await page.getByText("not run").waitFor();
    expect(existsSync(path.join(cwd, "denied.txt"))).toBe(false);
    const threadId = /thread\/([\w-]+)/.exec(page.url())?.[1] ?? "";
    expect(await recordOf(stage, threadId)).toContain("Use the build folder.");
  });

  it("shows the new state of a thread that ended, even before the next request", async () => {
    await using visitor = await stage.come();
    const { page } = visitor;
    await visitor.start("!shell touch left.txt\n!say over", { cwd, policy: "untrusted" });
    await page.getByRole("article", { name: "Run a command" }).waitFor();
    await expect.poll(() => page.locator(".facts .state").textContent()).toBe("waiting");
    const thread = page.url();
    await page.goto(`${stage.front.address}#/inbox`);
    // The server's answer about the thread never arrives.
    await page.route(/\/api\/v1\/threads\/[\w-]+$/, () => {});
    await page.getByRole("button", { name: "Approve" }).click();
    await page.locator(".settled li", { hasText: "left.txt" }).waitFor();
    await page.goto(thread);
    await page.getByText("completed", { exact: true }).waitFor();
    await expect.poll(() => page.locator(".facts .state").textContent()).toBe("idle");
  });

  it("steers a running turn, stops another, and forks", async () => {
    await using visitor = await stage.come();
    const { page } = visitor;
    await visitor.start("!shell sleep 1\n!slow 20 100", { cwd, policy: "never" });
    await page.getByPlaceholder("Tell the running turn something more").fill("Also say this");
    await page.getByRole("button", { name: "Steer" }).click();
    await page.locator(".item-userMessage", { hasText: "Also say this" }).waitFor();
    await page.getByText("completed", { exact: true }).waitFor();

    await page.getByPlaceholder("Reply").fill("!hang");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("interrupted", { exact: true }).waitFor();

    const before = page.url();
    await page.getByRole("button", { name: "Fork" }).click();
    await page.waitForURL((url) => url.href !== before);
    await page.locator(".item-userMessage", { hasText: "Also say this" }).waitFor();
  });

  it("keeps what was typed and not sent while other pages are shown", async () => {
    await using visitor = await stage.come();
    const { page } = visitor;
    await visitor.start("!say ready", { cwd });
    const reply = page.getByPlaceholder("Reply");
    await reply.fill("half a sentence");
    await visitor.goTo("new");
    const prompt = page.getByLabel("What should the agent do?");
    // What was sent is no draft.
    expect(await prompt.inputValue()).toBe("");
    await prompt.fill("later");
    await visitor.goTo("inbox");
    await page.goBack();
    expect(await prompt.inputValue()).toBe("later");
    await page.goBack();
    expect(await reply.inputValue()).toBe("half a sentence");
    await reply.fill("!say a whole one");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("a whole one", { exact: true }).waitFor();
    await visitor.goTo("inbox");
    await page.goBack();
    expect(await reply.inputValue()).toBe("");
  });

  it("shows the button *To the end* only while there is something to scroll to", async () => {
    await using visitor = await stage.come({ viewport: { width: 1280, height: 480 } });
    const { page } = visitor;
    await visitor.start("!shell seq 40; false\n!say after the numbers", { cwd, policy: "never" });
    await page.getByText("completed", { exact: true }).waitFor();
    await page.getByRole("log").evaluate((box) => box.scrollTo({ top: 0 }));
    await page.getByRole("button", { name: "To the end" }).waitFor();
    await page.getByRole("article", { name: "Command" }).locator("summary").click();
    await page.getByRole("button", { name: "To the end" }).waitFor({ state: "detached" });
  });

  it("is served by the server itself, and opened by the address that it printed", async () => {
    const address =
      stage.server.running.errorLines.map((line) => /console at (\S+)/.exec(line)?.[1]).find((found) => found !== undefined) ?? "";
    await using visitor = await Visitor.come(stage.browser, address.replace(/#.*/, ""));
    const page = await visitor.page.context().newPage();
    const loaded: Promise<number>[] = [];
    page.on("response", (response) => {
      if (!response.url().includes("/api/")) loaded.push(response.body().then((body) => gzipSync(body).length));
    });
    await page.goto(address);
    await page.getByRole("heading", { name: /waits?$/ }).waitFor();
    const bytes = await Promise.all(loaded);
    expect(bytes.length).toBeGreaterThan(2);
    expect(bytes.reduce((sum, each) => sum + each)).toBeLessThan(300_000);
    expect(await page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")).toBeLessThan(MOST_PAINT_MS);
    // The code is removed from the address and from the history.
    expect(page.url()).not.toContain("code");
    await page.getByRole("link", { name: "Doctor" }).click();
    await page.getByText("authenticated by cookie").waitFor();
  });

  it("renames a thread, finds it by its name, archives and unarchives it", async () => {
    await using visitor = await stage.come();
    const { page } = visitor;
    await visitor.start("!say kept", { cwd });
    await page.getByText("completed", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Rename" }).click();
    await page.getByLabel("Name of the thread").fill("Zebra crossing");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Zebra crossing" }).waitFor();
    await page.getByLabel("Search threads").fill("zebra");
    const rows = page.getByRole("navigation", { name: "Threads" }).getByRole("link");
    await expect.poll(() => rows.allTextContents()).toEqual([expect.stringContaining("Zebra crossing")]);
    await page.getByRole("button", { name: "Archive" }).click();
    await page.getByText("This thread is archived").waitFor();
    await page.getByRole("button", { name: "Unarchive" }).click();
    await page.getByPlaceholder("Reply").waitFor();
  });

  it("shows the second of two people that a question is settled, and who settled it", async () => {
    await using one = await stage.come();
    await using other = await stage.come();
    await one.start("!shell touch both.txt\n!say done", { cwd, policy: "untrusted" });
    await one.goTo("inbox");
    await other.page.getByRole("article", { name: "Run a command" }).waitFor();
    await one.page.getByRole("button", { name: "Approve" }).click();
    const settled = other.page.locator(".settled li", { hasText: "touch both.txt" });
    await expect.poll(() => settled.textContent()).toMatch(/approved by local \(console\)/);
    expect(await other.page.getByRole("article").count()).toBe(0);
  });

  it("reconnects by itself after the server was killed and restarted", async () => {
    await using visitor = await stage.come();
    const { page } = visitor;
    await visitor.start("!say before the end", { cwd });
    await page.getByText("completed", { exact: true }).waitFor();
    await stage.kill();
    await page.getByText("The server does not answer.").waitFor();
    await stage.startAgain();
    await page.getByText("The server does not answer.").waitFor({ state: "detached" });
    await page.getByPlaceholder("Reply").fill("!say after it");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("after it", { exact: true }).waitFor();
    expect(await page.getByText("before the end", { exact: true }).count()).toBe(1);
  });

  it("shows each event of a broken connection once", async () => {
    await using visitor = await stage.come();
    const { page } = visitor;
    await visitor.start("!slow 80 50", { cwd });
    const answer = page.getByRole("article", { name: "Agent" });
    await expect.poll(() => answer.textContent()).toContain("w3 ");
    stage.front.cut();
    await expect.poll(() => answer.textContent()).toContain("w79");
    const words = (await answer.locator(".markdown").textContent())?.trim().split(" ");
    expect(words).toEqual(Array.from({ length: 80 }, (_, index) => `w${index}`));
  });
});

/** The stored thread, with everything that the model read. */
async function recordOf({ stage }: ConsoleStage, threadId: string): Promise<string> {
  const folder = path.join(stage.codexHome, "sessions");
  const files = await readdir(folder, { recursive: true });
  return readFile(path.join(folder, files.find((name) => name.includes(threadId)) ?? ""), "utf8");
}
