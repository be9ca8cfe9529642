import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { firstNamesIn, followLinks, isInside, resolvedAsFarAsPossible, resolveLinks } from "./paths.js";

let place: string;
beforeAll(() => {
  place = realpathSync(mkdtempSync(path.join(tmpdir(), "leads-")));
  mkdirSync(path.join(place, "a/b"), { recursive: true });
  mkdirSync(path.join(place, "elsewhere/deep"), { recursive: true });
  const link = (name: string, target: string) => symlinkSync(target, path.join(place, name));
  link("absolute", path.join(place, "elsewhere"));
  link("a/relative", "../elsewhere/deep");
  link("chain", "a/relative");
  link("dangling", "elsewhere/not/yet");
  link("round", "about");
  link("about", "round");
});
afterAll(() => rmSync(place, { recursive: true, force: true }));

describe("where a path leads", () => {
  it.for([
    ["a/b", "a/b"],
    ["a/b/not/yet/made", "a/b/not/yet/made"],
    ["absolute", "elsewhere"],
    ["absolute/deep/new", "elsewhere/deep/new"],
    ["a/relative", "elsewhere/deep"],
    ["chain/new", "elsewhere/deep/new"],
    ["dangling", "elsewhere/not/yet"],
    ["dangling/below", "elsewhere/not/yet/below"],
  ] as const)("%s → %s", ([from, to]) => expect(resolveLinks(path.join(place, from))).toBe(path.join(place, to)));

  it("`..` after a link leads above the link's target", () => {
    expect(resolveLinks(`${place}/chain/../x`)).toBe(path.join(place, "elsewhere/x"));
  });

  it("a cycle of links leads nowhere", () => {
    expect([resolveLinks(path.join(place, "round")), resolveLinks(path.join(place, "round/x"))]).toEqual([undefined, undefined]);
  });

  it("the root is itself", () => expect(resolveLinks("/")).toBe("/"));
});

describe("a path that is longer than the kernel accepts", () => {
  const beyond = "/x".repeat(100_000);

  it("leads nowhere", () => {
    expect(resolveLinks(place + beyond)).toBeUndefined();
    expect(followLinks(`${place}${"/a/..".repeat(100_000)}`)).toBeUndefined();
  });

  it("is resolved as far as the kernel can look it up", () => {
    expect(resolvedAsFarAsPossible(path.join(place, "absolute") + beyond)).toBe(path.join(place, "elsewhere") + beyond);
    expect(resolvedAsFarAsPossible("x".repeat(10_000))).toBe("x".repeat(10_000));
  });
});

it("the first names in a folder are listed; none if there is no such folder", () => {
  expect([
    firstNamesIn(place, 1).length,
    firstNamesIn(path.join(place, "elsewhere"), 9),
    firstNamesIn(path.join(place, "elsewhere"), 0),
  ]).toEqual([1, ["deep"], []]);
  expect(firstNamesIn(path.join(place, "nowhere"), 9)).toEqual([]);
});

it.for([
  ["/root/a", "/root/a", true],
  ["/root/a/b", "/root/a", true],
  ["/root/ab", "/root/a", false],
  ["/root", "/root/a", false],
  ["/anything", "/", true],
  ["/", "/", true],
] as const)("%s is inside %s: %s", ([file, folder, within]) => expect(isInside(file, folder)).toBe(within));
