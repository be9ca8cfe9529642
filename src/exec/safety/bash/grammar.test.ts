import { expect, it, onTestFinished, vi } from "vitest";
import { clock, openGrammar } from "./grammar.js";
import { openBashReader } from "./reader.js";
import { UNREAD_COMMANDS } from "./words.js";

function readerOf(script: string) {
  return openBashReader(["bash", "-c", script]);
}

/** Bash would wait for the rest of such a script. Without a limit, the grammar takes two gigabytes and cannot be used again. */
it("a script that exhausts the memory of the grammar counts as unreadable, and the next call gets a new grammar", async () => {
  const time = vi.spyOn(clock, "nowMs").mockReturnValue(0);
  onTestFinished(() => time.mockRestore());
  const other = await readerOf("ls\nls");
  const before = await openGrammar();
  const endless = "ls|".repeat(20_000);
  const call = await readerOf(endless);
  expect([call.canRead(endless), call.canRead("ls &&"), call.mentionedCommands(endless)]).toEqual([false, false, [UNREAD_COMMANDS]]);
  expect(other.plainCommands("ls && pwd")).toBeUndefined();
  expect(await openGrammar()).not.toBe(before);
  const next = await readerOf("ls && pwd");
  expect(next.plainCommands("ls && pwd")?.map(({ words }) => words)).toEqual([["ls"], ["pwd"]]);
});

it("a script of very many parts counts as unreadable", async () => {
  const script = "ls\n".repeat(60_000);
  const call = await readerOf(script);
  expect([call.canRead(script), call.plainCommands(script), call.mentionedCommands(script)]).toEqual([false, undefined, [UNREAD_COMMANDS]]);
});

it("a script that cannot be parsed in time is not read at all, not even its beginning", async () => {
  const time = vi.spyOn(clock, "nowMs").mockReturnValue(0);
  onTestFinished(() => time.mockRestore());
  const script = `ls ${"a".repeat(30)}\n`.repeat(1_000);
  expect((await readerOf(script)).canRead(script)).toBe(true);
  // Once a script is parsed, its words can be read after the deadline too.
  time.mockReturnValue(10_000);
  expect((await readerOf(script)).plainCommands(script)?.at(-1)?.words).toEqual(["ls", "a".repeat(30)]);
  let now = 0;
  time.mockImplementation(() => (now += 100));
  const later = `${script}rm -rf x`;
  expect((await readerOf(later)).canRead(later)).toBe(false);
});

it("a script does not become unreadable because other processes have the cores meanwhile", async () => {
  let now = 0;
  const busy = vi.spyOn(performance, "now").mockImplementation(() => (now += 10_000));
  onTestFinished(() => busy.mockRestore());
  const script = "ls && pwd\n".repeat(1_000);
  expect((await readerOf(script)).canRead(script)).toBe(true);
});
