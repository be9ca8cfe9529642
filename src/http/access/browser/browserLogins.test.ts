import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { expect, it } from "vitest";
import { BrowserLogins } from "./browserLogins.js";

const OWN_USER = { principal: "local", scopes: ["read"] };
const HOUR = 60 * 60_000;

function requestWith(headers: Readonly<Record<string, string>> = {}): IncomingMessage {
  return Object.assign(new IncomingMessage(new Socket()), { headers });
}

function cookieOf(header: string | undefined): IncomingMessage {
  return requestWith({ cookie: `other=1; ${(header ?? "").split(";")[0]}` });
}

it("a code works once, and its cookie until it is not used for long", () => {
  let now = 0;
  const logins = new BrowserLogins({ ownUser: OWN_USER, port: () => 4096, now: () => now });
  const { code } = logins.newCode();
  const header = logins.byCode(code, requestWith());
  expect(header).toMatch(/^codex-mcpd-4096=[\w-]{43}; Max-Age=43200; HttpOnly; SameSite=Strict$/);
  expect(logins.byCode(code, requestWith())).toBeUndefined();
  expect(logins.recall(cookieOf(header))).toEqual({ identity: OWN_USER });
  now += 13 * HOUR;
  expect(logins.recall(cookieOf(header))).toBeUndefined();
});

it("a code that is too old is used up as well", () => {
  let now = 0;
  const logins = new BrowserLogins({ ownUser: OWN_USER, port: () => 4096, now: () => now });
  const { code } = logins.newCode();
  now = HOUR + 1;
  expect(logins.byCode(code, requestWith())).toBeUndefined();
  now = 0;
  expect(logins.byCode(code, requestWith())).toBeUndefined();
});

it("a login with a token stands for the token, until it is ended", () => {
  const logins = new BrowserLogins({ ownUser: OWN_USER, port: () => 1 });
  const header = logins.byToken(requestWith({ authorization: "Bearer t" }));
  expect(logins.recall(cookieOf(header))).toEqual({ authorization: "Bearer t" });
  expect(logins.end(cookieOf(header))).toContain("Max-Age=0");
  expect(logins.recall(cookieOf(header))).toBeUndefined();
});
