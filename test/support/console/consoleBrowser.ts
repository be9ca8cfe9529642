import { accessSync, constants } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { expect } from "vitest";

const PROGRAMS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const SCREENSHOTS = fileURLToPath(new URL("../../../.cache/screenshots", import.meta.url));

/** The path of a browser; undefined if there is none. */
export function browserProgram(): string | undefined {
  return PROGRAMS.find((program) => {
    try {
      accessSync(program, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

export function launchBrowser(): Promise<Browser> {
  const program = browserProgram();
  if (program === undefined) throw new Error("There is no Chromium: apt-get install chromium");
  // Chromium's own sandbox does not work for root, as which tests run in containers.
  return chromium.launch({ executablePath: program, args: process.getuid?.() === 0 ? ["--no-sandbox"] : [] });
}

/** A user with an open console. Disposing fails if the page had an error or violated its content security policy. */
export class Visitor implements AsyncDisposable {
  readonly #faults: string[] = [];

  private constructor(
    readonly page: Page,
    private readonly address: string,
  ) {
    page.on("pageerror", (error) => this.#faults.push(error.message));
    page.on("console", (message) => {
      // The browser itself logs unreachable servers, which are part of some tests.
      if (message.type() === "error" && !/Failed to load resource|net::ERR/.test(message.text())) this.#faults.push(message.text());
    });
    page.on("dialog", (dialog) => {
      this.#faults.push(`a dialog opened: ${dialog.message()}`);
      void dialog.dismiss();
    });
  }

  static async come(browser: Browser, address: string, options: BrowserContextOptions = {}): Promise<Visitor> {
    const visitor = await Visitor.at(browser, address, options);
    await visitor.goTo("inbox");
    return visitor;
  }

  /** Opens this address, without waiting for a page of the console. */
  static async at(browser: Browser, address: string, options: BrowserContextOptions = {}): Promise<Visitor> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, reducedMotion: "reduce", ...options });
    context.setDefaultTimeout(15_000);
    const visitor = new Visitor(await context.newPage(), address.replace(/#.*/, ""));
    await visitor.page.goto(address);
    return visitor;
  }

  async goTo(route: string): Promise<void> {
    await this.page.goto(`${this.address}#/${route}`);
    await this.page.locator("main h2").first().waitFor();
  }

  /** Starts a thread with the form, and waits for its page. */
  async start(prompt: string, { cwd, policy }: { readonly cwd: string; readonly policy?: string }): Promise<void> {
    const { page } = this;
    await this.goTo("new");
    await page.getByLabel("What should the agent do?").fill(prompt);
    await page.getByLabel("Folder", { exact: true }).and(page.locator("input")).fill(cwd);
    if (policy) await page.getByLabel("Approval policy").selectOption(policy);
    await page.getByRole("button", { name: "Start" }).click();
    await page.waitForURL(/#\/thread\//);
  }

  async picture(name: string): Promise<void> {
    await mkdir(SCREENSHOTS, { recursive: true });
    await this.page.screenshot({ path: path.join(SCREENSHOTS, `${name}.png`) });
  }

  /** The accessibility violations that axe finds. */
  async accessibilityFaults(): Promise<readonly string[]> {
    const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
    await this.page.evaluate(axe);
    const { violations } = await this.page.evaluate<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }>(
      "axe.run()",
    );
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.page.context().close();
    expect(this.#faults, "what the page complained about").toEqual([]);
  }
}
