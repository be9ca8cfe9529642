import { describe, expect, it } from "vitest";
import { maskSent } from "./mask.js";

it("takes the values of headers out of a text, wherever they stand", () => {
  const headers = { authorization: "Bearer sk-0123456789", "api-key": "another-secret" };
  expect(maskSent("sk-0123456789 and another-secret, again: Bearer sk-0123456789", headers)).toEqual("**** and ****, again: Bearer ****");
});

it("leaves short values alone, which are no secrets", () => {
  expect(maskSent("version 1 of 10", { "api-version": "1" })).toEqual("version 1 of 10");
});

describe("the address that was asked", () => {
  const url = new URL("https://me:p%40ssw0rd@example.org/v1/responses");
  url.searchParams.set("key", "a b/c+d&e=\"f'g");
  url.searchParams.set("code", "x1");
  url.searchParams.set("api-version", "2024-10-21");
  const key = url.searchParams.get("key") ?? "";

  it.each([
    ["as it is", key],
    ["as it was sent", url.search],
    ["percent-encoded", encodeURIComponent(key)],
    ["percent-encoded in small letters", encodeURIComponent(key).toLowerCase()],
    ["percent-encoded twice", encodeURIComponent(encodeURIComponent(key))],
    ["in JSON", JSON.stringify({ url: key })],
    ["in JSON within JSON", JSON.stringify({ url: JSON.stringify(key) })],
    ["in careful JSON", key.replaceAll(/[^a-z]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0").toUpperCase()}`)],
    ["on a page", key.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("'", "&#39;")],
  ])("is masked %s", (_, said) => {
    const masked = maskSent(`cannot ${said} here`, {}, url);
    expect(masked).toContain("****");
    expect(masked).not.toMatch(/c(?:\+|%2b|%252b|\\u002b)d/i);
    expect(masked).toMatch(/^cannot .* here$/s);
  });

  it("is masked with its password, and with short values by their names", () => {
    expect(maskSent(`GET ${url.href}: x1 is not a code`, {}, url)).toBe(
      "GET https://me:****@example.org/v1/responses?key=****&code=****&api-version=2024-10-21: x1 is not a code",
    );
  });
});

it("gets through text made to be slow", () => {
  const hostile = ["\\", "%25", "\\u0", "a"].map((piece) => piece.repeat(65_536 / piece.length)).join("");
  expect(maskSent(hostile, { authorization: `Bearer ${"a".repeat(200)}/b`, other: `/${"+".repeat(50)}` })).toBe(hostile);
});
