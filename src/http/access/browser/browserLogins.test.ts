import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { expect, it } from "vitest";
import { BrowserLogins } from "./browserLogins.js";

const OWN_USER = { principal: "local", scopes: ["read"] };
const userOf = () => 1_000;
const HOUR = 60 * 60_000;

function requestWith(headers: Readonly<Record<string, string>> = {}): IncomingMessage {
  return Object.assign(new IncomingMessage(new Socket()), { headers });
}

function cookieOf(header: string | undefined): IncomingMessage {
  return requestWith({ cookie: `other=1; ${(header ?? "").split(";")[0]}` });
}

it("a code works once, and its cookie until it has not been used for long", async () => {
  let now = 0;
  const logins = new BrowserLogins({ ownUser: OWN_USER, port: () => 4096, userOf, now: () => now });
  const { code } = logins.newCode();
  const header = await logins.byCode(code, requestWith());
  expect(header).toMatch(/^codex-mcpd-4096=[\w-]{43}; Max-Age=34560000; HttpOnly; SameSite=Strict$/);
  expect(await logins.byCode(code, requestWith())).toBeUndefined();
  // A day's work, with a look at least twice.
  for (let looks = 0; looks < 3; looks++) {
    expect(logins.recall(cookieOf(header))).toEqual({ identity: OWN_USER });
    now += 11 * HOUR;
  }
  now += 2 * HOUR;
  expect(logins.recall(cookieOf(header))).toBeUndefined();
});

it("a code that is too old is used up as well", async () => {
  let now = 0;
  const logins = new BrowserLogins({ ownUser: OWN_USER, port: () => 4096, userOf, now: () => now });
  const { code } = logins.newCode();
  now = HOUR + 1;
  expect(await logins.byCode(code, requestWith())).toBeUndefined();
  now = 0;
  expect(await logins.byCode(code, requestWith())).toBeUndefined();
});

it("a login with a token has the token's identity until it ends", async () => {
  const logins = new BrowserLogins({ ownUser: OWN_USER, port: () => 1, userOf });
  const header = await logins.byToken(requestWith({ authorization: "Bearer t" }), "alice");
  expect(logins.recall(cookieOf(header))).toEqual({ authorization: "Bearer t" });
  expect(logins.end(cookieOf(header))).toContain("Max-Age=0");
  expect(logins.recall(cookieOf(header))).toBeUndefined();
});

it("a cookie is valid only for the user whose browser got it, and a code cannot be used twice while that user is looked up", async () => {
  let user: number | string = 1_000;
  const logins = new BrowserLogins({ ownUser: OWN_USER, port: () => 1, userOf: async () => user });
  const { code } = logins.newCode();
  const [header, second] = await Promise.all([logins.byCode(code, requestWith()), logins.byCode(code, requestWith())]);
  expect(second).toBeUndefined();
  const seen = [];
  for (user of [1_000, 1_001, 0, "unknown"]) seen.push(await logins.isOfSameUser(cookieOf(header)));
  expect(seen).toEqual([true, false, false, false]);
});

it("a cookie of the same name that another server has set does not hide the right one", async () => {
  const logins = new BrowserLogins({ ownUser: OWN_USER, port: () => 1, userOf });
  const [right = ""] = ((await logins.byCode(logins.newCode().code, requestWith())) ?? "").split(";");
  const both = requestWith({ cookie: `codex-mcpd-1=planted; ${right}; codex-mcpd-1=` });
  expect(logins.recall(both)).toEqual({ identity: OWN_USER });
  expect(await logins.isOfSameUser(both)).toBe(true);
  logins.end(both);
  expect(logins.recall(both)).toBeUndefined();
});

it("only the newest logins of a principal are kept, and no other principal's login ends for them", async () => {
  const logins = new BrowserLogins({ ownUser: OWN_USER, port: () => 1, userOf });
  const others = await logins.byToken(requestWith({ authorization: "Bearer b" }), "bob");
  const own = [];
  for (let at = 0; at < 100; at++) own.push(await logins.byToken(requestWith({ authorization: "Bearer a" }), "alice"));
  const good = own.map((header) => logins.recall(cookieOf(header)) !== undefined);
  expect(good).toEqual(Array.from({ length: 100 }, (_, at) => at >= 68));
  expect(logins.recall(cookieOf(others))).toEqual({ authorization: "Bearer b" });
});
