import { expect, it } from "vitest";
import { countedFiles, type NamedChange } from "./countedFiles.js";

const CHANGES: readonly NamedChange[] = ["a", "b", "c"].map((name) => ({ name, kind: "update" }));

it("others are served between two files", async () => {
  let served = 0;
  let isOver = false;
  const serve = () => {
    served++;
    if (!isOver) setImmediate(serve);
  };
  serve();
  const seen: number[] = [];
  const before = () => {
    seen.push(served);
    return "1\n";
  };
  await countedFiles(CHANGES, { root: "/w", before, now: () => "2\n", signal: AbortSignal.timeout(60_000) });
  isOver = true;
  expect(new Set(seen).size).toBe(3);
});

it("files that are not read within the time limit are reported without line counts", async () => {
  const time = new AbortController();
  const now = ({ name }: NamedChange) => {
    if (name === "b") time.abort();
    return "1\n2\n";
  };
  expect(await countedFiles(CHANGES, { root: "/w", before: () => "1\n", now, signal: time.signal })).toEqual([
    { path: "/w/a", kind: "update", added: 1, removed: 0 },
    { path: "/w/b", kind: "update" },
    { path: "/w/c", kind: "update" },
  ]);
});
