import { appendFileSync, mkdirSync, readFileSync, renameSync, statSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { tempHome } from "../../../../test/support/threads/rollouts.js";
import { newThreadId, type ThreadId } from "../../../lib/ids.js";
import { StorageFailed } from "../../../threads/errors.js";
import { ThreadTitles } from "./threadTitles.js";

let file: string;
let titles: ThreadTitles;
beforeEach(() => {
  const home = tempHome();
  file = path.join(home.path, "session_index.jsonl");
  titles = new ThreadTitles(home.path);
  return () => home[Symbol.dispose]();
});

const [ONE, TWO] = [newThreadId(), newThreadId()];

/** A line in Codex's format. */
function lineOf(id: ThreadId, thread_name: string): string {
  return `${JSON.stringify({ id, thread_name, updated_at: "2026-01-27T10:32:31.123456789Z" })}\n`;
}

async function shown(): Promise<Record<string, string>> {
  return Object.fromEntries(await titles.read());
}

describe("titles", () => {
  it("do not exist without a file, or in an invalid one", async () => {
    expect(await shown()).toEqual({});
    mkdirSync(file);
    expect(await shown()).toEqual({});
    await expect(titles.give(ONE, "x")).rejects.toThrow(StorageFailed);
  });

  it("are those of Codex; the last title of a thread counts; invalid lines are skipped", async () => {
    const noise = ["\n", "no JSON\n", `${JSON.stringify({ id: TWO })}\n`, " ".repeat(300_000), "\n", "[1]\n"];
    writeFileSync(file, [lineOf(ONE, "old"), ...noise, lineOf(ONE, "new"), '{"id":"torn'].join(""));
    expect(await shown()).toEqual({ [ONE]: "new" });
  });

  it("are written in a line that Codex reads, private to the user, even after an incomplete line", async () => {
    writeFileSync(file, '{"id":"torn', { mode: 0o600 });
    await titles.give(ONE, 'A "title"');
    const [torn, line = "", end] = readFileSync(file, "utf8").split("\n");
    expect([torn, end, statSync(file).mode & 0o777]).toEqual(['{"id":"torn', "", 0o600]);
    expect(JSON.parse(line)).toEqual({ id: ONE, thread_name: 'A "title"', updated_at: expect.stringMatching(/^\d{4}-.*Z$/) });
    expect(await shown()).toEqual({ [ONE]: 'A "title"' });
  });

  it("follow changes of the file: appended, rewritten in place, replaced, truncated, removed", async () => {
    writeFileSync(file, lineOf(ONE, "first"));
    const seen = [await shown()];
    appendFileSync(file, lineOf(TWO, "grown"));
    seen.push(await shown());
    writeFileSync(file, lineOf(TWO, "rewritten") + lineOf(ONE, "in the place of the others") + lineOf(ONE, "longer than before"));
    seen.push(await shown());
    writeFileSync(`${file}.new`, lineOf(TWO, "replaced"));
    renameSync(`${file}.new`, file);
    seen.push(await shown());
    truncateSync(file, 10);
    seen.push(await shown());
    expect(seen).toEqual([
      { [ONE]: "first" },
      { [ONE]: "first", [TWO]: "grown" },
      { [ONE]: "longer than before", [TWO]: "rewritten" },
      { [TWO]: "replaced" },
      {},
    ]);
  });

  it("of an incomplete line are shown when it is complete", async () => {
    const line = lineOf(TWO, "whole");
    writeFileSync(file, lineOf(ONE, "first") + line.slice(0, 30));
    expect(await shown()).toEqual({ [ONE]: "first" });
    appendFileSync(file, line.slice(30));
    expect(await shown()).toEqual({ [ONE]: "first", [TWO]: "whole" });
  });

  it("of a removed thread are blanked in place, and no other line moves", async () => {
    writeFileSync(file, lineOf(ONE, "secret") + lineOf(TWO, `about ${ONE}`) + lineOf(ONE, "secret too"));
    const before = readFileSync(file, "utf8");
    await titles.forget(ONE);
    const after = readFileSync(file, "utf8");
    expect([after.length, after.includes("secret"), after.indexOf("about")]).toEqual([before.length, false, before.indexOf("about")]);
    expect(await shown()).toEqual({ [TWO]: `about ${ONE}` });
  });

  it("that cannot be blanked are reported", async () => {
    await titles.forget(ONE);
    mkdirSync(file);
    await expect(titles.forget(ONE)).rejects.toThrow(StorageFailed);
  });
});
