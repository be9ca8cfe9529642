import { expect, it } from "vitest";
import { McpRequestFailed } from "./failures.js";
import { allPages } from "./serverAnswers.js";

it("all pages are read", async () => {
  const asked: unknown[] = [];
  const pages = [
    { entries: [1, 2], nextCursor: "a" },
    { entries: [], nextCursor: "b" },
    { entries: [3], nextCursor: null },
  ];
  const all = await allPages("tools/list", async (params) => {
    asked.push(params);
    return pages[asked.length - 1] ?? { entries: [], nextCursor: undefined };
  });
  expect({ all, asked }).toEqual({ all: [1, 2, 3], asked: [{}, { cursor: "a" }, { cursor: "b" }] });
});

it("an endless list of pages is given up", async () => {
  await expect(allPages("tools/list", async () => ({ entries: [], nextCursor: "a" }))).rejects.toEqual(
    new McpRequestFailed("tools/list returned duplicate cursor"),
  );
  let page = 0;
  await expect(allPages("tools/list", async () => ({ entries: [], nextCursor: String(page++) }))).rejects.toEqual(
    new McpRequestFailed("tools/list returned more than 64 pages"),
  );
});
