import { mkdirSync, realpathSync, renameSync, symlinkSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { tempHome } from "../../../../test/support/threads/rollouts.js";
import { checkToken, TokenTable } from "./tokenTable.js";

const ADA = { name: "ada", token: "a-token-of-ada-0001", scopes: ["call"] } as const;

describe("a table of tokens", () => {
  it("knows each token's principal and scopes, and no other text", () => {
    const table = new TokenTable([ADA, { name: "bob", token: "a-token-of-bob-0001", scopes: ["call", "read"] }]);
    expect(
      ["a-token-of-ada-0001", "a-token-of-bob-0001", "a-token-of-ada-0002", "a-token-of-ada-000", ""].map((token) => table.find(token)),
    ).toEqual([{ principal: "ada", scopes: ["call"] }, { principal: "bob", scopes: ["call", "read"] }, undefined, undefined, undefined]);
  });

  it("takes the first of equal tokens", () => {
    const table = new TokenTable([ADA, { ...ADA, name: "bob", scopes: ["operator"] }]);
    expect(table.find(ADA.token)).toEqual({ principal: "ada", scopes: ["call"] });
  });

  it("gives a token without a name a principal of its own, which stays the same after a restart and does not reveal the token", () => {
    const unnamed = ["an-unnamed-token-001", "an-unnamed-token-002"].map((token) => ({ token, scopes: [] }));
    const [first, second] = unnamed.map(({ token }) => new TokenTable(unnamed).find(token)?.principal);
    expect(first).toMatch(/^token-[0-9a-f]{16}$/);
    expect(second).not.toBe(first);
    expect(new TokenTable(unnamed).find("an-unnamed-token-001")?.principal).toBe(first);
  });

  it("resolves roots when it is made: a link that moves later leads nowhere else, a missing root is left out", () => {
    const home = tempHome();
    onTestFinished(() => home[Symbol.dispose]());
    const [one, other, link] = ["one", "other", "link"].map((name) => path.join(home.path, name));
    if (one === undefined || other === undefined || link === undefined) throw new Error("no folders");
    mkdirSync(one);
    mkdirSync(other);
    symlinkSync(one, link);
    const table = new TokenTable([{ ...ADA, roots: [link, path.join(home.path, "missing")] }]);
    symlinkSync(other, `${link}.new`);
    renameSync(`${link}.new`, link);
    expect(table.find(ADA.token)?.roots).toEqual([realpathSync(one)]);
    expect(table.roots).toEqual([realpathSync(one)]);
  });
});

it.each([
  ["too short", "short-token-123", "the token has 15 characters and needs at least 16"],
  ["with a blank", "a token with blanks in it", "the token has characters other than letters, digits and -._~+/"],
])("a token that is %s is refused without being shown", (_, token, why) => {
  const refusal = () => checkToken(token, "line 3");
  expect(refusal).toThrow(`line 3: ${why}`);
  expect(refusal).not.toThrow(token);
});
