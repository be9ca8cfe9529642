import { appendFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { threadIdOf } from "../../src/lib/ids.js";
import { findRollout } from "../../src/stores/files/threads/rolloutPaths.js";
import { ConsoleStage, isWithoutBrowser } from "../support/console/consoleStage.js";
import { handshake, toolCall } from "../support/http/httpClient.js";
import { valueAt } from "../support/scenarios/scenario.js";

describe.skipIf(isWithoutBrowser())("the console during interruptions", () => {
  let stage: ConsoleStage;
  let cwd: string;

  beforeAll(async () => {
    stage = await ConsoleStage.open();
    ({ cwd } = stage);
  });

  afterAll(() => stage?.[Symbol.asyncDispose]());

  async function api(method: string, route: string, body?: unknown): Promise<unknown> {
    const answer = await fetch(`${stage.server.origin}/api/v1${route}`, {
      method,
      ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return text === "" ? undefined : JSON.parse(text);
  }

  async function begin(prompt: string): Promise<string> {
    return String(valueAt(await api("POST", "/threads", { prompt, cwd, wait: 60 }), "thread.id"));
  }

  it("shows how to begin if there are no threads", async () => {
    await using visitor = await stage.come();
    const { page } = visitor;
    await page.getByRole("heading", { name: "There are no threads yet" }).waitFor();
    // The proxy serves it below a path.
    const sample = JSON.parse((await page.locator(".sample").textContent()) ?? "") as unknown;
    expect(valueAt(sample, "mcpServers.codex.url")).toBe(stage.front.address.replace("/console/", "/mcp"));
    expect(await visitor.accessibilityFaults()).toEqual([]);
    await visitor.picture("beginning");
    await page.getByRole("main").getByRole("link", { name: "New thread" }).click();
    await page.getByRole("heading", { name: "New thread" }).waitFor();
    expect(await page.title()).toBe("New thread · codex-mcpd");
  });

  it("shows the events of an hour in which the tab slept, once", async () => {
    const threadId = await begin("!say before the sleep");
    await using visitor = await stage.come();
    const { page } = visitor;
    await page.clock.install();
    await visitor.goTo("inbox");
    await page.reload();
    await visitor.goTo(`thread/${threadId}`);
    await page.getByText("before the sleep", { exact: true }).waitFor();
    await api("POST", `/threads/${threadId}/turns`, { prompt: "!say the last that it heard", wait: 60 });
    await page.getByText("the last that it heard", { exact: true }).waitFor();
    stage.front.mute();
    await api("POST", `/threads/${threadId}/turns`, { prompt: "!say while it slept", wait: 60 });
    expect(await page.getByText("while it slept", { exact: true }).count()).toBe(0);
    await page.clock.fastForward("01:00:00");
    await page.getByText("while it slept", { exact: true }).waitFor();
    await api("POST", `/threads/${threadId}/turns`, { prompt: "!say after it", wait: 60 });
    await page.getByText("after it", { exact: true }).waitFor();
    const answers = await page.getByRole("article", { name: "Agent" }).allTextContents();
    expect(answers.map((text) => text.replace(/^[\d:]+/, ""))).toEqual([
      "before the sleep",
      "the last that it heard",
      "while it slept",
      "after it",
    ]);
  });

  it("uses the server's clock if the browser's clock is wrong", async () => {
    await using visitor = await stage.come();
    const { page } = visitor;
    await page.clock.install({ time: Date.now() + 5 * 60 * 60_000 });
    await page.reload();
    await visitor.start("!shell touch late.txt\n!say in time", { cwd, policy: "untrusted" });
    const card = page.getByRole("article", { name: "Run a command" });
    await card.getByText(/^(30|29) min left$/).waitFor();
    await card.getByRole("button", { name: "Approve" }).click();
    await page.getByText("in time", { exact: true }).waitFor();
    await expect.poll(() => page.locator(".row[aria-current] .row-time").textContent()).toBe("now");
  });

  it("closes the stream of a hidden tab, and catches up when the tab is visible again", async () => {
    const threadId = await begin("!say seen");
    await using visitor = await stage.come();
    const { page } = visitor;
    await visitor.goTo(`thread/${threadId}`);
    await page.getByText("seen", { exact: true }).waitFor();
    const hide = (isHidden: boolean) =>
      page.evaluate(`Object.defineProperty(document, "hidden", { value: ${isHidden}, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"))`);
    await hide(true);
    await api("POST", `/threads/${threadId}/turns`, { prompt: "!say unseen", wait: 60 });
    expect(await page.getByText("unseen", { exact: true }).count()).toBe(0);
    await hide(false);
    await page.getByText("unseen", { exact: true }).waitFor();
    expect(await page.getByText("seen", { exact: true }).count()).toBe(1);
  });

  it("shows an answer in one browser to another browser, and withdraws the question from the MCP client", async () => {
    await using one = await stage.come();
    await using other = await stage.come();
    const { session = "" } = await stage.server.ask({ message: handshake(0, { capabilities: { elicitation: {} } }) });
    const headers = { "mcp-session-id": session };
    using stream = await stage.server.stream({ headers });
    const args = { prompt: "!shell touch by-three.txt\n!say done", "approval-policy": "untrusted", sandbox: "workspace-write" };
    const called = stage.server.ask({ headers, message: toolCall("call", args) });
    const question = await stream.question();
    for (const { page } of [one, other]) await page.getByRole("article", { name: "Run a command" }).waitFor();
    await one.page.getByRole("button", { name: "Approve" }).click();
    for (const { page } of [one, other]) {
      await page.locator(".settled li", { hasText: "touch by-three.txt" }).getByText("approved").waitFor();
      expect(await page.getByRole("article").count()).toBe(0);
    }
    expect(valueAt((await called).body, "result.structuredContent")).toMatchObject({
      content: "done",
      approvals: { asked: 1, allowed: 1, denied: 0 },
    });
    const withdrawn = stream.messages.find(({ method }) => method === "notifications/cancelled");
    expect(valueAt(withdrawn, "params.requestId")).toBe(question["id"]);
  });

  it("says that the shown thread was archived or deleted elsewhere", async () => {
    const threadId = await begin("!say kept");
    await using visitor = await stage.come();
    const { page } = visitor;
    await visitor.goTo(`thread/${threadId}`);
    await page.getByPlaceholder("Reply").waitFor();
    await api("PATCH", `/threads/${threadId}`, { archived: true });
    await page.getByText("This thread is archived").waitFor();
    await api("DELETE", `/threads/${threadId}`);
    await page.getByText("This thread is gone").waitFor();
    expect(await page.getByPlaceholder("Reply").count()).toBe(0);
    expect(await visitor.accessibilityFaults()).toEqual([]);
    await visitor.picture("thread-gone");
  });

  it("shows a long answer up to a limit while it is written, and all of it on request", async () => {
    await using visitor = await stage.come();
    const { page } = visitor;
    await visitor.start("!tokens 60000", { cwd });
    await page.getByText("completed", { exact: true }).waitFor();
    const answer = page.getByRole("article", { name: "Agent" });
    expect((await answer.textContent())?.length).toBeLessThan(70_000);
    await page.getByRole("button", { name: "Truncated: show everything" }).click();
    await expect.poll(() => answer.textContent()).toContain("w59999");
  });

  it("shows an answer of five megabytes on request, and remains usable", async () => {
    const threadId = await begin("!say short");
    const file = await findRollout(stage.stage.codexHome, threadIdOf(threadId));
    const text = Array.from({ length: 500_000 }, (_, at) => `word${String(at).padStart(6, "0")}`).join("\n");
    const payload = { type: "message", role: "assistant", content: [{ type: "output_text", text }] };
    await appendFile(file ?? "", `${JSON.stringify({ timestamp: new Date().toISOString(), type: "response_item", payload })}\n`);
    await using visitor = await stage.come();
    const { page } = visitor;
    await visitor.goTo(`thread/${threadId}`);
    const answer = page.getByRole("article", { name: "Agent" }).last();
    await page.getByRole("button", { name: "Truncated: show everything" }).click();
    await answer.getByText("Shown without formatting").waitFor();
    expect((await answer.textContent())?.includes("word499999")).toBe(true);
    await page.getByPlaceholder("Reply").fill("!say still here");
    await page.getByRole("button", { name: "Send" }).click();
    await expect.poll(() => answer.locator(".markdown").textContent()).toBe("still here");
  });
});
