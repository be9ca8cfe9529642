import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ConsoleStage, isWithoutBrowser } from "../support/console/consoleStage.js";

/** Texts that would run code, load something or link somewhere if they were shown as HTML. */
const PAYLOADS = [
  "<img src=x onerror=alert(1)>",
  "<script>alert(2)</script>",
  "<svg onload=alert(3)><a href='javascript:alert(4)'>x</a></svg>",
  "<iframe srcdoc='<script>alert(5)</script>'></iframe>",
];
const MARKDOWN =
  "[click](javascript:alert(6)) [data](data:text/html,<script>alert(7)</script>) ![pixel](http://192.0.2.1/p.png) [ok](https://example.com/a)";
const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

/** Presses Tab until the field with this label has the focus; the number of fields before it depends on what the server offers. */
async function tabTo(page: Page, label: string): Promise<void> {
  for (let steps = 0; steps < 40; steps++) {
    await page.keyboard.press("Tab");
    if ((await page.evaluate("document.activeElement.labels?.[0]?.textContent")) === label) return;
  }
  throw new Error(`The Tab key never came to "${label}".`);
}

describe.skipIf(isWithoutBrowser())("the console for all users", () => {
  let stage: ConsoleStage;
  let cwd: string;

  beforeAll(async () => {
    stage = await ConsoleStage.open();
    ({ cwd } = stage);
    await mkdir(path.join(cwd, "lib"));
    await writeFile(path.join(cwd, "lib", "sum.js"), "export function sum(a, b) {\n  return a - b;\n}\n");
  });

  afterAll(() => stage?.[Symbol.asyncDispose]());

  it("shows hostile texts of every kind as text", async () => {
    await using visitor = await stage.come();
    const { page } = visitor;
    const all = PAYLOADS.join(" ");
    const name = "<img src=x onerror=alert(8)>.txt";
    const script = [
      `!shell printf '\\033[31m<img src=x onerror=alert(9)>\\033[0m\\033]8;;javascript:alert(10)\\007link\\033]8;;\\007'`,
      `!rawpatch *** Begin Patch\\n*** Add File: ${name}\\n+<script>alert(11)</script>\\n*** End Patch`,
      `!say ${all}\\n\\n${MARKDOWN}`,
    ];
    await visitor.start(`${all}\n${script.join("\n")}`, { cwd, policy: "untrusted" });
    await page.getByRole("article", { name: "Run a command" }).getByRole("button", { name: "Approve" }).click();
    const change = page.getByRole("article", { name: "Change 1 file" });
    await change.getByText(name).waitFor();
    await visitor.picture("hostile-asked");
    await change.getByRole("button", { name: "Approve" }).click();
    const answer = page.getByRole("article", { name: "Agent" });
    await expect.poll(() => answer.textContent()).toContain("ok");
    for (const payload of PAYLOADS) expect(await answer.textContent()).toContain(payload);
    expect(await page.locator(".item-userMessage").textContent()).toContain(all);
    expect(await page.locator(".terminal").first().textContent()).toBe("<img src=x onerror=alert(9)>link");
    const addresses = await page.evaluate("[...document.querySelectorAll('.timeline a')].map((link) => link.getAttribute('href'))");
    expect(addresses).toEqual(["http://192.0.2.1/p.png", "https://example.com/a"]);
    expect(await page.locator("main :is(img, script, iframe, object, embed), main svg").count()).toBe(0);
    await visitor.picture("hostile-thread");
  });

  it("shows the hidden parts of a command", async () => {
    await using visitor = await stage.come();
    await visitor.start("!shell touch \u202etxt.exe\u200b", { cwd, policy: "untrusted" });
    const card = visitor.page.getByRole("article", { name: "Run a command" });
    expect(await card.locator(".command").textContent()).toContain("\\u{202e}txt.exe");
    await card.getByRole("button", { name: "Deny…" }).click();
    await card.getByRole("button", { name: "Deny and stop the turn" }).click();
    await card.waitFor({ state: "detached" });
  });

  it("works completely on a phone", async () => {
    await using visitor = await stage.come({ ...PHONE, colorScheme: "dark" });
    const { page } = visitor;
    const patch =
      "!rawpatch *** Begin Patch\\n*** Update File: lib/sum.js\\n@@\\n export function sum(a, b) {\\n-  return a - b;\\n+  return a + b;\\n }\\n*** End Patch";
    await visitor.start(`The sum is wrong.\n!plan Find the fault|Mend it|Run the tests\n${patch}\n!say Mended.`, {
      cwd,
      policy: "untrusted",
    });
    await page.getByRole("article", { name: "Change 1 file" }).waitFor();
    await visitor.picture("phone-thread");
    for (const name of ["new", "numbers", "doctor", "threads", "inbox"]) {
      await page.goto(`${stage.front.address}#/${name}`);
      await page
        .locator(name === "threads" ? "nav.threads .row" : `main h2`)
        .first()
        .waitFor();
      if (name === "doctor") await page.locator(".doctor li").first().waitFor();
      expect(await page.evaluate("document.scrollingElement.scrollWidth"), `the width of ${name}`).toBe(390);
      await visitor.picture(`phone-${name}`);
    }
    await page.getByRole("button", { name: "Approve" }).tap();
    await page.locator(".settled li").waitFor();
  });

  it("can be used with keys alone", async () => {
    await using visitor = await stage.come();
    const { page } = visitor;
    await page.keyboard.press("n");
    await page.getByRole("heading", { name: "New thread" }).waitFor();
    await tabTo(page, "What should the agent do?");
    await page.keyboard.insertText("!shell touch one.txt\n!shell touch two.txt\n!say typed");
    await tabTo(page, "Folder");
    await page.keyboard.press("Control+A");
    await page.keyboard.insertText(cwd);
    await tabTo(page, "Approval policy");
    await page.keyboard.press("u");
    expect([
      await page.locator("main").getByLabel("Folder", { exact: true }).inputValue(),
      await page.getByLabel("Approval policy").inputValue(),
    ]).toEqual([cwd, "untrusted"]);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.waitForURL(/#\/thread\//);
    await page.getByRole("article", { name: "Run a command" }).waitFor();

    await page.keyboard.press("i");
    await page.getByRole("heading", { name: "1 question waits" }).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("a");
    await page.locator(".settled li", { hasText: "one.txt" }).waitFor();
    await page.locator(".cards", { hasText: "touch two.txt" }).waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("d");
    await page.keyboard.type("no more of these");
    await page.keyboard.press("Enter");
    await page.locator(".settled li", { hasText: "two.txt" }).getByText("denied").waitFor();
    // The focus is on an element of the page.
    expect(await page.evaluate("document.activeElement.id")).toBe("inbox-heading");
  });

  it.each(["light", "dark"] as const)("has no violations for axe in %s colours", async (colorScheme) => {
    await using visitor = await stage.come({ colorScheme });
    const { page } = visitor;
    const script = `!think Look first\n!shell printf 'a\\033[32mb\\033[0m'; touch x; false\n!patch notes-${colorScheme}.txt some words\n!say # Title\\n\\n- [x] one\\n- two\\n\\n\`\`\`js\\ncode()\\n\`\`\``;
    await visitor.start(script, { cwd, policy: "untrusted" });
    await page.getByRole("article", { name: "Run a command" }).waitFor();
    expect(await visitor.accessibilityFaults()).toEqual([]);
    await page.getByRole("button", { name: "Approve" }).click();
    await page.getByRole("article", { name: "Change 1 file" }).getByRole("button", { name: "Deny…" }).click();
    expect(await visitor.accessibilityFaults()).toEqual([]);
    await page.goto(`${stage.front.address}#/inbox`);
    await page.getByRole("article", { name: "Change 1 file" }).getByRole("button", { name: "Approve" }).click();
    await page.locator(".settled a").first().click();
    await page.getByRole("heading", { name: "Title", exact: true }).waitFor();
    expect(await visitor.accessibilityFaults()).toEqual([]);
    await visitor.picture(`thread-${colorScheme}`);
    for (const name of ["inbox", "new", "numbers", "doctor"]) {
      await visitor.goTo(name);
      if (name === "numbers") await page.locator(".plot strong", { hasText: "MiB" }).waitFor();
      expect(await visitor.accessibilityFaults(), name).toEqual([]);
      await visitor.picture(`${name}-${colorScheme}`);
    }
    await page.getByRole("button", { name: "Settings and keys" }).click();
    expect(await visitor.accessibilityFaults()).toEqual([]);
    await visitor.picture(`settings-${colorScheme}`);
  });
});
