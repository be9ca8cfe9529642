import { writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launchBrowser, Visitor } from "../support/console/consoleBrowser.js";
import { isWithoutBrowser } from "../support/console/consoleStage.js";
import { type HttpServer, startHttpServer } from "../support/http/httpServer.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { type Stage, setStage } from "../support/stage.js";

const OFFICIAL = fileURLToPath(new URL("../programs/mcpServerOfficial.mjs", import.meta.url));
const ALICE = "alice-token-0123456789abcdef";
const WATCHER = "watcher-token-0123456789abcdef";

const PROPERTIES = {
  code: { type: "string", title: "Code", minLength: 2, maxLength: 3 },
  mail: { type: "string", title: "Mail", format: "email" },
  page: { type: "string", title: "Page", format: "uri" },
  day: { type: "string", title: "Day", format: "date" },
  copies: { type: "integer", title: "Copies", minimum: 1, maximum: 9 },
  share: { type: "number", title: "Share", maximum: 0.5 },
  licence: {
    type: "string",
    title: "Licence",
    oneOf: [
      { const: "mit", title: "The MIT licence" },
      { const: "other", title: "Another" },
    ],
  },
  places: {
    type: "array",
    title: "Places",
    minItems: 1,
    maxItems: 2,
    items: {
      anyOf: [
        { const: "npm", title: "The npm registry" },
        { const: "jsr", title: "JSR" },
        { const: "git", title: "Git" },
      ],
    },
  },
};
const required = Object.keys(PROPERTIES);

describe.skipIf(isWithoutBrowser())("forms in the console", () => {
  let stage: Stage;
  let server: HttpServer;
  let browser: Awaited<ReturnType<typeof launchBrowser>>;

  beforeAll(async () => {
    stage = await setStage();
    const tokens = path.join(stage.root, "tokens");
    await writeFile(tokens, `alice ${ALICE}\nalice ${WATCHER} read\n`, { mode: 0o600 });
    const config = `[mcp_servers.official]\ncommand = ${JSON.stringify(process.execPath)}\nargs = [${JSON.stringify(OFFICIAL)}]\n`;
    server = await startHttpServer({ stage, config, args: ["--token-file", tokens] });
    browser = await launchBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await server?.[Symbol.asyncDispose]();
    await stage?.[Symbol.asyncDispose]();
  });

  /** A turn whose MCP server asks for a form to be filled in. */
  async function begin(form: object): Promise<string> {
    const answer = await fetch(`${server.origin}/api/v1/threads`, {
      method: "POST",
      headers: { authorization: `Bearer ${ALICE}`, "content-type": "application/json" },
      body: JSON.stringify({
        prompt: `!call mcp__official__fill ${JSON.stringify(form)}\n!say done`,
        cwd: stage.workspace,
        approvalPolicy: "on-request",
      }),
    });
    return ((await answer.json()) as { thread: { id: string } }).thread.id;
  }

  /** A user with this token, on a thread's page. */
  async function visit(threadId: string, token = ALICE): Promise<{ readonly visitor: Visitor; readonly form: Locator }> {
    const visitor = await Visitor.at(browser, `${server.origin}/console/`);
    const { page } = visitor;
    await page.getByLabel("One-time code or bearer token").fill(token);
    await page.getByRole("button", { name: "Log in" }).click();
    await visitor.goTo(`thread/${threadId}`);
    return { visitor, form: page.getByRole("article", { name: "Question from official" }) };
  }

  async function result({ page }: Visitor): Promise<unknown> {
    await page.getByText("done", { exact: true }).waitFor();
    await page.getByRole("article", { name: "Tool" }).locator("summary").click();
    const shown = JSON.parse((await page.getByRole("group", { name: "Result" }).textContent()) ?? "") as unknown;
    // A running turn shows the whole result, the record what the model got.
    return valueAt(shown, "structuredContent") ?? shown;
  }

  const wrong = (form: Locator) =>
    form.locator("input:invalid, select:invalid").evaluateAll((all) => all.map((one) => one.getAttribute("name")));

  it("take what fits each field, and name what does not before anything is sent", async () => {
    const { visitor, form } = await visit(await begin({ properties: PROPERTIES, required }));
    await using _ = visitor;
    const fill = async (values: Readonly<Record<string, string>>) => {
      for (const [label, value] of Object.entries(values)) await form.getByLabel(label).fill(value);
    };
    await form.getByText("2 to 3 characters.").waitFor();
    await form.getByText("Choose 1 to 2.").waitFor();
    expect(await wrong(form)).toEqual(required.map((name) => `field-${name}`));
    await fill({ Code: "👍", Mail: "somebody", Page: "https://exämple.com/", Day: "2026-02-28", Copies: "10", Share: "0.6" });
    await form.getByLabel("Licence").selectOption("The MIT licence");
    for (const place of ["The npm registry", "JSR", "Git"]) await form.getByLabel(place).check();
    await form.getByRole("button", { name: "Answer" }).click();
    expect(await wrong(form)).toEqual(["code", "mail", "page", "copies", "share", "places"].map((name) => `field-${name}`));
    await form.getByLabel("Git").uncheck();
    await fill({ Code: "👍👍👍", Mail: "a@b.de", Page: "https://example.com/a?b", Copies: "9", Share: "0.5" });
    expect(await wrong(form)).toEqual([]);
    expect(await visitor.accessibilityFaults()).toEqual([]);
    await visitor.picture("form");
    await form.getByRole("button", { name: "Answer" }).click();
    expect(await result(visitor)).toEqual({
      action: "accept",
      content: {
        code: "👍👍👍",
        mail: "a@b.de",
        page: "https://example.com/a?b",
        day: "2026-02-28",
        copies: 9,
        share: 0.5,
        licence: "mit",
        places: ["npm", "jsr"],
      },
    });
  });

  it("show the server's complaint about a value that the browser accepts, and keep what was typed", async () => {
    const { visitor, form } = await visit(await begin({ properties: { count: { type: "integer", title: "Count" } } }));
    await using _ = visitor;
    await form.getByLabel("Count").fill("1e300");
    await form.getByRole("button", { name: "Answer" }).click();
    expect(await form.getByRole("alert").locator("span").textContent()).toBe("`count` takes a whole number.");
    expect(await form.getByLabel("Count").inputValue()).toBe("1e300");
    await form.getByLabel("Count").fill("12");
    await form.getByRole("button", { name: "Answer" }).click();
    expect(await result(visitor)).toEqual({ action: "accept", content: { count: 12 } });
  });

  it("are approved by key with what was filled in, not with the defaults", async () => {
    const version = { type: "string", title: "Version", default: "4.2.0" };
    const { visitor, form } = await visit(await begin({ properties: { version } }));
    await using _ = visitor;
    await form.getByLabel("Version").fill("5.0.0");
    await form.focus();
    await visitor.page.keyboard.press("a");
    expect(await result(visitor)).toEqual({ action: "accept", content: { version: "5.0.0" } });
  });

  it("cannot be answered by a login that may only watch", async () => {
    const threadId = await begin({ properties: {} });
    const { visitor, form } = await visit(threadId, WATCHER);
    await using _ = visitor;
    await form.getByText("may only watch").waitFor();
    await form.getByText("Which?").waitFor();
    expect(await form.getByRole("button").count()).toBe(0);
    const { visitor: other, form: same } = await visit(threadId);
    await using _other = other;
    await same.getByRole("button", { name: "Answer" }).click();
    // The watcher sees who answered.
    await form.waitFor({ state: "detached" });
    expect(await result(other)).toEqual({ action: "accept", content: {} });
  });

  const NOTE = { properties: { note: { type: "string", title: "Note" }, sure: { type: "boolean", title: "Sure" } } };
  const note = (page: Page) => page.getByRole("textbox", { name: "Note" });

  it("keep what was filled in while other pages are shown, and while the user logs in again", async () => {
    const { visitor, form } = await visit(await begin(NOTE));
    await using _ = visitor;
    const { page } = visitor;
    await note(page).fill("typed");
    await page.getByRole("checkbox", { name: "Sure" }).check();
    await visitor.goTo("doctor");
    await visitor.goTo("inbox");
    expect(await note(page).inputValue()).toBe("typed");
    // Another tab of the same browser ends the login.
    const other = await page.context().newPage();
    await other.goto(`${server.origin}/console/`);
    await other.getByRole("button", { name: "Settings and keys" }).click();
    await other.getByRole("button", { name: "Log out" }).click();
    await other.getByRole("button", { name: "Log in" }).waitFor();
    await page.getByLabel("One-time code or bearer token").fill(ALICE);
    await page.getByRole("button", { name: "Log in" }).click();
    expect([await note(page).inputValue(), await page.getByRole("checkbox", { name: "Sure" }).isChecked()]).toEqual(["typed", true]);
    await form.getByRole("button", { name: "Answer" }).click();
    await page.locator(".settled li", { hasText: "Which?" }).getByText("answered").waitFor();
  });

  it("give way to the answer that somebody else gave, on the thread's page too", async () => {
    const threadId = await begin(NOTE);
    const { visitor } = await visit(threadId);
    await using _ = visitor;
    const { visitor: other, form } = await visit(threadId);
    await using _other = other;
    await note(visitor.page).fill("too late");
    await note(other.page).fill("first");
    await form.getByRole("button", { name: "Answer" }).click();
    const told = visitor.page.getByRole("list", { name: "Settled elsewhere" });
    expect(await told.textContent()).toMatch(/Which\? answered by alice \(console\)/);
    expect(await visitor.accessibilityFaults()).toEqual([]);
    expect(await result(other)).toEqual({ action: "accept", content: { note: "first", sure: false } });
    expect(await other.page.getByRole("list", { name: "Settled elsewhere" }).count()).toBe(0);
  });

  it("leave the page with the turn that asked", async () => {
    const threadId = await begin(NOTE);
    const { visitor, form } = await visit(threadId);
    await using _ = visitor;
    await form.waitFor();
    const headers = { authorization: `Bearer ${ALICE}` };
    await fetch(`${server.origin}/api/v1/threads/${threadId}/interrupt`, { method: "POST", headers });
    await form.waitFor({ state: "detached" });
  });
});
