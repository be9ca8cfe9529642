import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { expect, it } from "vitest";
import { HttpProblem } from "./problem.js";
import { Router } from "./router.js";

const read = () => {};
const write = () => {};
const take = () => {};
const router = new Router<string>(
  [
    { path: "/things", aliases: ["/"], methods: { GET: read, POST: write }, upgrade: take },
    { path: "/health", methods: { GET: read } },
  ],
  "things are at /things",
);

function request(method: string, url: string): IncomingMessage {
  return Object.assign(new IncomingMessage(new Socket()), { method, url });
}

function problemOf(look: () => unknown): unknown {
  try {
    return look();
  } catch (error) {
    return error instanceof HttpProblem ? { status: error.status, message: error.message, headers: error.headers } : error;
  }
}

it("finds the handler of a path and method, whatever the query is", () => {
  expect(router.handlerOf(request("GET", "/things"))).toBe(read);
  expect(router.handlerOf(request("POST", "/?a=/health"))).toBe(write);
  expect(router.handlerOf(request("GET", "/health?x"))).toBe(read);
  expect(router.upgradeOf(request("GET", "/"))).toBe(take);
});

it.each([
  ["GET", "/nothing", 404, "Nothing is served at /nothing; things are at /things", {}],
  ["GET", "/things/below", 404, "Nothing is served at /things/below; things are at /things", {}],
  ["PUT", "/", 405, "PUT is not served at /things", { allow: "GET, POST, OPTIONS" }],
  ["toString", "/health", 405, "toString is not served at /health", { allow: "GET, OPTIONS" }],
])("%s %s is an error of its sender", (method, url, status, message, headers) => {
  expect(problemOf(() => router.handlerOf(request(method, url)))).toEqual({ status, message, headers });
});

it("says which paths accept upgrades", () => {
  expect(problemOf(() => router.upgradeOf(request("GET", "/health")))).toEqual({
    status: 404,
    message: "WebSocket is served at /things",
    headers: {},
  });
});

it("labels requests in metrics by their route, never by a client's path", () => {
  expect(["/", "/things?a", "/health", "/x", "/__proto__"].map((url) => router.labelOf(request("GET", url)))).toEqual([
    "/things",
    "/things",
    "/health",
    "other",
    "other",
  ]);
});
