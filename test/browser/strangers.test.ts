import { writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launchBrowser, Visitor } from "../support/console/consoleBrowser.js";
import { ConsoleFront } from "../support/console/consoleFront.js";
import { isWithoutBrowser } from "../support/console/consoleStage.js";
import { RawSocket } from "../support/http/httpRawSocket.js";
import { type HttpServer, startHttpServer } from "../support/http/httpServer.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { type Stage, setStage } from "../support/stage.js";

const OPERATOR_TOKEN = "operator-token-0123456789abcdef";
const WATCHER_TOKEN = "watcher-token-0123456789abcdef";

describe.skipIf(isWithoutBrowser())("a server with tokens", () => {
  let stage: Stage;
  let server: HttpServer;
  let browser: Browser;

  beforeAll(async () => {
    stage = await setStage();
    const tokens = path.join(stage.root, "tokens");
    await writeFile(tokens, `root ${OPERATOR_TOKEN} operator\nroot ${WATCHER_TOKEN} read\n`, { mode: 0o600 });
    server = await startHttpServer({ stage, args: ["--token-file", tokens, "--approval-fallback", "hold"] });
    browser = await launchBrowser();
  });

  afterAll(async () => {
    await browser?.close();
    await server?.[Symbol.asyncDispose]();
    await stage?.[Symbol.asyncDispose]();
  });

  async function asOperator(route: string, body?: unknown): Promise<unknown> {
    const answer = await fetch(`${server.origin}/api/v1${route}`, {
      method: "POST",
      headers: { authorization: `Bearer ${OPERATOR_TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify(body ?? {}),
    });
    return answer.json();
  }

  it("accepts a one-time code once, and a token until the logout", async () => {
    const address = String(valueAt(await asOperator("/login/codes"), "address"));
    await using first = await Visitor.at(browser, address);
    await first.page.getByRole("heading", { name: "Nothing waits" }).waitFor();
    expect(first.page.url()).not.toContain("code");

    await using second = await Visitor.at(browser, address);
    await second.page.getByText("it was already used").waitFor();
    expect(await second.accessibilityFaults()).toEqual([]);
    await second.picture("login-replayed");
    const field = second.page.getByLabel("One-time code or bearer token");
    await field.fill("no such code");
    await second.page.getByRole("button", { name: "Log in" }).click();
    await second.page.getByRole("alert").waitFor();
    expect(await second.page.getByRole("navigation").count()).toBe(0);
    await field.fill(OPERATOR_TOKEN);
    await second.page.getByRole("button", { name: "Log in" }).click();
    await second.page.getByRole("heading", { name: "Nothing waits" }).waitFor();
    // Scripts, the history and later users of the browser cannot read the token.
    const kept = await second.page.evaluate("JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }, location.href])");
    expect(kept).not.toContain(OPERATOR_TOKEN);
    expect(kept).toMatch(/^\[""/);

    await second.page.getByRole("button", { name: "Settings and keys" }).click();
    await second.page.getByText("Logged in as root").waitFor();
    await second.picture("settings-login");
    await second.page.getByRole("button", { name: "Log out" }).click();
    await second.page.getByRole("button", { name: "Log in" }).waitFor();
    await second.page.reload();
    await second.page.getByRole("button", { name: "Log in" }).waitFor();
  });

  it("logs in with an address that is pasted into an open tab, and keeps no code in it", async () => {
    await using visitor = await Visitor.at(browser, `${server.origin}/console/`);
    const { page } = visitor;
    await page.getByRole("button", { name: "Log in" }).waitFor();
    await page.goto(`${server.origin}/console/#code=not-a-code`);
    await page.getByText("it was already used").waitFor();
    expect(page.url()).not.toContain("code");
    await page.goto(String(valueAt(await asOperator("/login/codes"), "address")));
    await page.getByRole("heading", { name: "Nothing waits" }).waitFor();
    expect(page.url()).not.toContain("code");
    await page.goBack();
    expect(page.url()).not.toContain("code");
  });

  it("shows no buttons to a token without the scope `call`, and says why", async () => {
    const cwd = stage.workspace;
    const prompt = "!shell touch watched.txt\n!say done";
    await asOperator("/threads", { prompt, cwd, sandbox: "workspace-write", approvalPolicy: "untrusted" });
    await using visitor = await Visitor.at(browser, `${server.origin}/console/`);
    const { page } = visitor;
    await page.getByLabel("One-time code or bearer token").fill(WATCHER_TOKEN);
    await page.getByRole("button", { name: "Log in" }).click();
    const card = page.getByRole("article", { name: "Run a command" });
    await card.getByText("may only watch").waitFor();
    expect(await page.getByRole("button", { name: "Approve" }).count()).toBe(0);
    await card.focus();
    await page.keyboard.press("a");
    await card.getByRole("link").click();
    await page.getByText("Your login may only watch.", { exact: true }).waitFor();
    expect([await page.getByPlaceholder("Reply").count(), await page.getByRole("button", { name: "Fork" }).count()]).toEqual([0, 0]);
    await visitor.picture("watcher");
    await page.getByRole("link", { name: "Doctor" }).click();
    await page.getByRole("alert").getByText("scope_missing").waitFor();
    expect(await visitor.accessibilityFaults()).toEqual([]);
    await visitor.picture("watcher-doctor");
    await page.getByRole("link", { name: "New" }).click();
    expect(await page.getByRole("button", { name: "Start" }).isDisabled()).toBe(true);
  });
});

describe.skipIf(isWithoutBrowser())("a restart of a server with tokens", () => {
  it("asks for the login again, and then shows the same thread", async () => {
    await using stage = await setStage();
    const file = path.join(stage.root, "tokens");
    await writeFile(file, `root ${OPERATOR_TOKEN} operator\n`, { mode: 0o600 });
    const start = () => startHttpServer({ stage, args: ["--token-file", file] });
    const browser = await launchBrowser();
    let server = await start();
    const front = await ConsoleFront.open(server.origin);
    try {
      const answer = await fetch(`${server.origin}/api/v1/threads`, {
        method: "POST",
        headers: { authorization: `Bearer ${OPERATOR_TOKEN}`, "content-type": "application/json" },
        body: JSON.stringify({ prompt: "!say before", cwd: stage.workspace, wait: 30 }),
      });
      const threadId = String(valueAt(await answer.json(), "thread.id"));
      await using visitor = await Visitor.at(browser, `${front.address}#/thread/${threadId}`);
      const { page } = visitor;
      const logIn = async () => {
        await page.getByLabel("One-time code or bearer token").fill(OPERATOR_TOKEN);
        await page.getByRole("button", { name: "Log in" }).click();
        await page.getByText("before", { exact: true }).waitFor();
      };
      await logIn();
      server.running.process.kill("SIGKILL");
      await server[Symbol.asyncDispose]();
      await page.getByText("The server does not answer.").waitFor();
      server = await start();
      front.target = server.origin;
      await logIn();
      await page.getByPlaceholder("Reply").fill("!say after");
      await page.getByRole("button", { name: "Send" }).click();
      await page.getByText("after", { exact: true }).waitFor();
    } finally {
      await browser.close();
      await front[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    }
  });
});

describe.skipIf(isWithoutBrowser())("a page of another origin, in a browser of the server's own user", () => {
  let server: HttpServer;
  let browser: Browser;
  let elsewhere: Server;

  beforeAll(async () => {
    server = await startHttpServer();
    browser = await launchBrowser();
    elsewhere = createServer((_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<h1>elsewhere</h1>"));
    await new Promise<void>((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
  });

  afterAll(async () => {
    await browser?.close();
    elsewhere?.closeAllConnections();
    elsewhere?.close();
    await server?.[Symbol.asyncDispose]();
  });

  it("can neither start nor read threads, nor show the console in a frame", async () => {
    const context = await browser.newContext();
    const own = await context.newPage();
    await own.goto(`${server.origin}/console/`);
    await own.getByRole("heading", { name: "Nothing waits" }).waitFor();
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`);
    const attempts = await page.evaluate<unknown>(`(async () => {
      const api = ${JSON.stringify(`${server.origin}/api/v1`)};
      const body = JSON.stringify({ prompt: "!say planted" });
      const tried = (promise) => promise.then(async (answer) => [answer.type, answer.status], () => "refused");
      const post = (path, init) => tried(fetch(api + path, { method: "POST", credentials: "include", body, ...init }));
      const json = { "content-type": "application/json" };
      return [
        await post("/threads", { headers: json }),
        await post("/threads", { mode: "no-cors", headers: { "content-type": "text/plain" } }),
        await post("/threads", { mode: "no-cors" }),
        await tried(fetch(api + "/threads", { credentials: "include" })),
        await tried(fetch(api + "/login/codes", { method: "POST", credentials: "include" })),
        await new Promise((resolve) => {
          const socket = new WebSocket(${JSON.stringify(server.url.replace("http", "ws"))});
          socket.onopen = () => resolve("open");
          socket.onerror = () => resolve("refused");
        }),
      ];
    })()`);
    // Requests that need no preflight reach the server, which refuses them; the page cannot read the response.
    expect(attempts).toEqual(["refused", ["opaque", 0], ["opaque", 0], "refused", "refused", "refused"]);
    const listed = await own.evaluate<unknown>(`fetch("../api/v1/threads").then((answer) => answer.json())`);
    expect(listed).toMatchObject({ threads: [] });

    await page.evaluate(`document.body.append(Object.assign(document.createElement("iframe"), { src: "${server.origin}/console/" }))`);
    const frame = await (await page.waitForSelector("iframe")).contentFrame();
    await expect.poll(() => frame?.url()).toMatch(/^chrome-error:/);
    await context.close();
  });

  it("gets no files except those of the console, whatever the path", async () => {
    const paths = [
      "../main.js",
      "%2e%2e/main.js",
      "..%2fmain.js",
      "assets/../../main.js",
      "/etc/passwd",
      "assets",
      "index.html/",
      "INDEX.HTML",
    ];
    for (const name of [...paths, "..\\main.js", "index.html%00.js", "./index.html"]) {
      using socket = await RawSocket.open(server.port);
      socket.say(`GET /console/${name} HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\nConnection: close\r\n\r\n`);
      const heard = await socket.untilClosed();
      expect([name, /^HTTP\/1\.1 (\d+)/.exec(heard)?.[1]]).toEqual([name, expect.stringMatching(/^40[0-4]$/)]);
      expect(heard).not.toContain("<!doctype");
    }
  });
});
