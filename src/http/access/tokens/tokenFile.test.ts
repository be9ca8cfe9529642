import { expect, it } from "vitest";
import { SCOPE_WORDS } from "../../../server/network.js";
import { AccessMisconfigured } from "../errors.js";
import { parseTokenFile } from "./tokenFile.js";

const A = "aaaaaaaaaaaaaaaaaaaaaaaa";
const B = "bbbbbbbbbbbbbbbbbbbbbbbb";
const C = "cccccccccccccccccccccc==";

it("has a token on each line, optionally with a name, scopes and folders", () => {
  const text = [
    "\uFEFF# who may come in",
    "",
    A,
    `alice   ${B}  # her laptop`,
    `bob@example.com: ${C} operator`,
    `\tbob@example.com:${A}2 \r`,
    `${B}2 operator`,
    "operator dddddddddddddddddddddddd",
    `carol ${B}3 manage call`,
    `dave: ${B}4 root=/srv/a:b/../c read root=/srv/d`,
  ].join("\n");
  expect(parseTokenFile(text, "tokens", SCOPE_WORDS)).toEqual([
    { token: A, scopes: ["call", "read"] },
    { name: "alice", token: B, scopes: ["call", "read"] },
    { name: "bob@example.com", token: C, scopes: ["call", "read", "manage", "operator"] },
    { name: "bob@example.com", token: `${A}2`, scopes: ["call", "read"] },
    { token: `${B}2`, scopes: ["call", "read", "manage", "operator"] },
    { name: "operator", token: "dddddddddddddddddddddddd", scopes: ["call", "read"] },
    { name: "carol", token: `${B}3`, scopes: ["call", "manage"] },
    { name: "dave", token: `${B}4`, scopes: ["read"], roots: ["/srv/c", "/srv/d"] },
  ]);
});

it.each([
  ["", "tokens: there is no token in it"],
  ["# nothing\n\n", "tokens: there is no token in it"],
  ["alice short", "tokens, line 1: the token has 5 characters and needs at least 16; `openssl rand -hex 32` makes a good one"],
  ["\nalice", "tokens, line 2: the token has 5 characters and needs at least 16; `openssl rand -hex 32` makes a good one"],
  ["secret,secret,secret", "tokens, line 1: the token has characters other than letters, digits and -._~+/ (with = at its end)"],
  [`alice smith ${A}`, "tokens, line 1: expected TOKEN, or NAME TOKEN, then perhaps call, read, manage, operator or root=DIR"],
  [`alice ${A} operator root`, "tokens, line 1: expected TOKEN, or NAME TOKEN, then perhaps call, read, manage, operator or root=DIR"],
  [`alice ${A} root=srv`, "tokens, line 1: root= needs an absolute path"],
  [`alice ${A} admin`, "tokens, line 1: expected TOKEN, or NAME TOKEN, then perhaps call, read, manage, operator or root=DIR"],
  [`!alice ${A}`, "tokens, line 1: a name has up to 64 letters, digits and ._@- and begins with a letter or digit"],
  [`alice ${A}\nbob ${A}`, "tokens, line 2: the token is already on a line above"],
])("%j cannot be used", (text, complaint) => {
  expect(() => parseTokenFile(text, "tokens", SCOPE_WORDS)).toThrow(new AccessMisconfigured(complaint));
});

it("has at most a thousand tokens", () => {
  const text = Array.from({ length: 1_001 }, (_, at) => `${A}${at}`).join("\n");
  expect(() => parseTokenFile(text, "tokens", SCOPE_WORDS)).toThrow("there are more than 1000 tokens in it");
});
