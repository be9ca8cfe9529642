import { expect, it } from "vitest";
import { startGated } from "../../../../test/support/http/gatedServer.js";

const TOKEN = "an-example-token-of-some-length";
const APP = "https://app.example";

/** The headers of an answer that browsers evaluate. */
function forBrowsers(headers: Readonly<Record<string, unknown>>) {
  return Object.fromEntries(
    Object.entries(headers).filter(([name]) => name.startsWith("access-control-") || name === "vary" || name === "allow"),
  );
}

it("the preflight of a listed origin needs no token and is answered", async () => {
  await using server = await startGated({ tokens: [TOKEN], corsOrigins: [`${APP}/`] });
  const { status, headers, body } = await server.ask({
    method: "OPTIONS",
    headers: [
      ["origin", APP],
      ["access-control-request-method", "POST"],
      ["access-control-request-headers", "authorization"],
    ],
  });
  expect([status, body, forBrowsers(headers)]).toEqual([
    204,
    undefined,
    {
      vary: "Origin",
      allow: "GET, POST, DELETE, OPTIONS",
      "access-control-allow-origin": APP,
      "access-control-allow-methods": "GET, POST, DELETE, OPTIONS",
      "access-control-allow-headers":
        "authorization, content-type, last-event-id, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id, traceparent, tracestate, x-mcp-post-stream",
      "access-control-expose-headers": "mcp-session-id, mcp-protocol-version, www-authenticate, retry-after",
      "access-control-max-age": "7200",
    },
  ]);
});

it("every answer to a listed origin can be read by it, refusals too", async () => {
  await using server = await startGated({ tokens: [TOKEN], corsOrigins: [APP] });
  const readable = {
    vary: "Origin",
    "access-control-allow-origin": APP,
    "access-control-expose-headers": "mcp-session-id, mcp-protocol-version, www-authenticate, retry-after",
  };
  const admitted = await server.ask({
    headers: [
      ["origin", APP],
      ["authorization", `Bearer ${TOKEN}`],
    ],
  });
  const refused = await server.ask({ headers: [["origin", APP]] });
  expect([admitted.status, forBrowsers(admitted.headers)]).toEqual([200, readable]);
  expect([refused.status, forBrowsers(refused.headers)]).toEqual([401, readable]);
});

it("once an origin is listed, caches learn that answers depend on the origin", async () => {
  await using server = await startGated({ corsOrigins: [APP] });
  expect(forBrowsers((await server.ask()).headers)).toEqual({ vary: "Origin" });
});

it("no similar origin counts as listed", async () => {
  await using server = await startGated({ corsOrigins: [APP, "vscode-webview://Extension"] });
  const origins = [
    "https://app.example:444",
    "http://app.example",
    "https://evil-app.example",
    "https://app.example.evil",
    "vscode-webview://other",
  ];
  const statuses = await Promise.all(origins.map(async (origin) => (await server.ask({ headers: [["origin", origin]] })).status));
  expect(statuses).toEqual([403, 403, 403, 403, 403]);
  expect((await server.ask({ headers: [["origin", "vscode-webview://extension"]] })).status).toBe(200);
});

it("without listed origins there are no CORS headers", async () => {
  await using server = await startGated();
  const asked = await server.ask({ method: "OPTIONS", headers: [["origin", "http://localhost:3000"]] });
  expect([asked.status, forBrowsers(asked.headers)]).toEqual([204, { allow: "GET, POST, DELETE, OPTIONS" }]);
  expect(forBrowsers((await server.ask({ headers: [["origin", "http://localhost:3000"]] })).headers)).toEqual({});
});

it("OPTIONS of a program is answered with the methods, that of a foreign page is refused", async () => {
  await using server = await startGated({ tokens: [TOKEN] });
  const { status, headers } = await server.ask({ method: "OPTIONS", path: "*" });
  expect([status, headers["allow"]]).toEqual([204, "GET, POST, DELETE, OPTIONS"]);
  expect((await server.ask({ method: "OPTIONS", headers: [["origin", "https://evil.example"]] })).status).toBe(403);
});
