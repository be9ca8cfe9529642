import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { findConsole, openBrowser } from "./openConsole.js";

const CONSOLE = "http://127.0.0.1:4096/console/";

/** A server that answers the two routes. */
async function consoleBehind(health: unknown, code: { readonly status: number; readonly body: unknown }): Promise<string | undefined> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? "no token"}`);
    const isHealth = request.url === "/api/v1/health";
    response
      .writeHead(isHealth ? 200 : code.status, { "content-type": "application/json" })
      .end(JSON.stringify(isHealth ? health : code.body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  try {
    return await findConsole({ host: "127.0.0.1", ports: [port, 0] });
  } finally {
    expect(asked.filter((line) => !line.endsWith("no token"))).toEqual([]);
    server.close();
  }
}

describe("the console of a server that listens already", () => {
  it("is opened with a code if the server gives one", async () => {
    expect(await consoleBehind({ console: CONSOLE }, { status: 201, body: { address: `${CONSOLE}#code=x` } })).toBe(`${CONSOLE}#code=x`);
  });

  it("is opened without a code if the server requires a token", async () => {
    expect(await consoleBehind({ console: CONSOLE }, { status: 403, body: { code: "login_refused" } })).toBe(CONSOLE);
  });

  it.each([{ console: null }, { status: "ok" }, "hello", { console: "file:///etc/passwd" }])("is not found in %j", async (health) => {
    expect(await consoleBehind(health, { status: 201, body: { address: `${CONSOLE}#code=x` } })).toBeUndefined();
  });

  it("is shown without characters that a terminal interprets", async () => {
    const shown = await consoleBehind({ console: `${CONSOLE}\u001b[2J\u202e` }, { status: 403, body: {} });
    expect(shown).toBe(`${CONSOLE}%1B[2J%E2%80%AE`);
  });

  it("opens only web pages", async () => {
    expect(await consoleBehind({ console: CONSOLE }, { status: 201, body: { address: "file:///etc/passwd" } })).toBe(CONSOLE);
  });

  it("is not found if nothing listens, or with port 0", async () => {
    expect(await findConsole({ host: "127.0.0.1", ports: [1] })).toBeUndefined();
    expect(await findConsole({ host: "127.0.0.1", ports: [0] })).toBeUndefined();
  });
});

it("a machine without a program that opens web pages opens no browser", () => {
  expect(openBrowser(CONSOLE, { platform: "aix" })).toBe(false);
});
