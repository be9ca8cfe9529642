import { appendFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { threadIdOf } from "../../src/lib/ids.js";
import { findRollout } from "../../src/stores/files/threads/rolloutPaths.js";
import { ConsoleStage, isWithoutBrowser } from "../support/console/consoleStage.js";
import {
  FAILED_SCENE,
  FORM_SCENE,
  LOGGER_SCENE,
  PUBLISH_SCENE,
  REVIEW,
  ROUNDING_SCENE,
  type Scene,
  SLOW_SCENE,
} from "../support/console/scenes.js";
import { handshake, toolCall } from "../support/http/httpClient.js";
import { valueAt } from "../support/scenarios/scenario.js";

const SIZES = {
  "wide-light": { viewport: { width: 1400, height: 900 }, colorScheme: "light" },
  "wide-dark": { viewport: { width: 1400, height: 900 }, colorScheme: "dark" },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: "dark", hasTouch: true, isMobile: true },
} as const;

const REVIEW_INSTRUCTIONS = "Are the backups safe?";

describe.skipIf(isWithoutBrowser())("all pages with realistic threads", () => {
  let stage: ConsoleStage;
  const threads: Record<string, string> = {};

  async function api(method: string, route: string, body?: unknown): Promise<unknown> {
    const answer = await fetch(`${stage.server.origin}/api/v1${route}`, {
      method,
      ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    return text === "" ? undefined : JSON.parse(text);
  }

  async function play({ folder, prompt, sandbox = "read-only", policy }: Scene, wait?: number): Promise<string> {
    const cwd = path.join(stage.cwd, folder);
    const started = await api("POST", "/threads", { prompt, cwd, sandbox, approvalPolicy: policy, wait });
    return String(valueAt(started, "thread.id"));
  }

  /** The same; resolves when the thread asks its question. */
  async function asking(scene: Scene): Promise<string> {
    const threadId = await play(scene);
    while (valueAt(await api("GET", `/approvals?threadId=${threadId}`), "approvals.0.id") === undefined);
    return threadId;
  }

  beforeAll(async () => {
    const long = {
      prompt: "Which files of the log are the largest?",
      script: ["!shell seq -f 'log/%05g.txt' 1 2000", "!say The last ones."],
    };
    const review = {
      prompt: REVIEW_INSTRUCTIONS,
      script: [`!say ${REVIEW.replaceAll("FOLDER", "/nowhere")}`],
    };
    stage = await ConsoleStage.openScenes([
      ROUNDING_SCENE,
      LOGGER_SCENE,
      PUBLISH_SCENE,
      SLOW_SCENE,
      FAILED_SCENE,
      FORM_SCENE,
      long,
      review,
    ]);
    const infra = path.join(stage.cwd, "infra");
    threads["failed"] = await play(FAILED_SCENE, 30);
    threads["long"] = await play({ folder: "infra", policy: "never", ...long }, 30);
    threads["done"] = await play(ROUNDING_SCENE, 30);
    await writeFile(
      path.join(infra, "main.tf"),
      'resource "bucket" "backups" {\n  name = "backups"\n\n  acl = "public-read"\n}\n\n# Thirty days.\nrule "expire" {\n  days = 1\n}\n',
    );
    const { session = "" } = await stage.server.ask({ message: handshake(0) });
    const args = { target: "custom", instructions: REVIEW_INSTRUCTIONS, cwd: infra };
    const reviewed = await stage.server.ask({ headers: { "mcp-session-id": session }, message: toolCall("review", args, "codex-review") });
    threads["review"] = String(valueAt(reviewed.body, "result.structuredContent.threadId"));
    await addHelper(threads["review"] ?? "");
    threads["running"] = await play(SLOW_SCENE);
    threads["patch"] = await asking(LOGGER_SCENE);
    threads["command"] = await asking(PUBLISH_SCENE);
    threads["form"] = await asking(FORM_SCENE);
  });

  afterAll(() => stage?.[Symbol.asyncDispose]());

  /** Appends a turn with a sub-agent, as Codex records it. */
  async function addHelper(threadId: string): Promise<void> {
    const file = await findRollout(stage.stage.codexHome, threadIdOf(threadId));
    const line = (type: string, payload: unknown) => `${JSON.stringify({ timestamp: new Date().toISOString(), type, payload })}\n`;
    const args = JSON.stringify({ task_name: "history", message: "Find out since when backups are kept, and who changed it." });
    const said = {
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: "Both come from one commit of last week." }],
    };
    await appendFile(
      file ?? "",
      [
        line("response_item", { type: "message", role: "user", content: [{ type: "input_text", text: "Since when?" }] }),
        line("event_msg", { type: "user_message", message: "Since when?", images: [], local_images: [], text_elements: [] }),
        line("response_item", { type: "function_call", name: "spawn_agent", call_id: "agent-1", arguments: args }),
        line("response_item", { type: "function_call_output", call_id: "agent-1", output: "{}" }),
        line("response_item", said),
      ].join(""),
    );
  }

  it("answers a form of an MCP server with values of all supported types", async () => {
    const threadId = await play(FORM_SCENE);
    await using visitor = await stage.come();
    const { page } = visitor;
    await visitor.goTo(`thread/${threadId}`);
    const form = page.getByRole("article", { name: "Question from official" });
    expect(await form.getByLabel("Version").inputValue()).toBe("4.2.0");
    await form.getByRole("button", { name: "Answer" }).click();
    // A required field is empty.
    expect(await form.locator("select:invalid").count()).toBe(1);
    await form.getByLabel("Channel").selectOption("beta");
    await form.getByLabel("jsr").check();
    await form.getByLabel("Only a draft").uncheck();
    await form.getByRole("button", { name: "Answer" }).click();
    await page.getByText("Prepared.", { exact: true }).waitFor();
    await page.getByRole("article", { name: "Tool" }).locator("summary").click();
    const told = (await page.getByRole("group", { name: "Result" }).textContent()) ?? "";
    for (const part of ['"action": "accept"', '"channel": "beta"', '"jsr"', '"draft": false']) expect(told).toContain(part);
  });

  it.each(Object.entries(SIZES))("fit into the window and pass axe: %s", async (name, { ...options }) => {
    await using visitor = await stage.come(options);
    const { page } = visitor;
    const pages = [
      "thread/running",
      "inbox",
      "threads",
      "new",
      "numbers",
      "doctor",
      ...Object.keys(threads)
        .filter((key) => key !== "running")
        .map((key) => `thread/${key}`),
      "thread/nonsense",
    ];
    for (const each of pages) {
      const [kind = "", key = ""] = each.split("/");
      await page.goto(`${stage.front.address}#/${key === "" ? kind : `${kind}/${threads[key] ?? key}`}`);
      if (name !== "phone" || kind !== "threads") await page.locator("main h2").first().waitFor();
      if (kind === "inbox") await page.getByRole("article").nth(2).waitFor();
      if (kind === "doctor") await page.locator(".doctor li").first().waitFor();
      if (kind === "numbers") await page.locator(".plot strong", { hasText: "MiB" }).waitFor();
      if (kind === "thread" && key !== "nonsense") await page.locator(".item").first().waitFor();
      await visitor.picture(`${name}-${each.replace("/", "-")}`);
      expect(await page.evaluate("document.scrollingElement.scrollWidth"), each).toBe(options.viewport.width);
      if (name !== "phone") expect(await visitor.accessibilityFaults(), each).toEqual([]);
    }
  });
});
