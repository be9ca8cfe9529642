import { describe, expect, it } from "vitest";
import { slowItems, withOthers } from "../../test/support/threads/slowItems.js";
import { InvalidCursor } from "./errors.js";
import type { RawItem } from "./items.js";
import { type TranscriptEntry, transcriptOf, transcriptPage } from "./transcript.js";

function said(role: string, text: string): RawItem {
  return { type: "message", role, content: [{ type: role === "assistant" ? "output_text" : "input_text", text }] };
}

function user(text: string): TranscriptEntry {
  return { from: "user", text };
}

describe("a transcript", () => {
  it("has the messages of people, the agent and its tools, and nothing that was added for the model", async () => {
    const items: RawItem[] = [
      said("developer", "<permissions instructions>"),
      said("user", "<environment_context>\n  <cwd>/repo</cwd>"),
      said("user", "Mend the test."),
      { type: "reasoning", summary: [{ type: "summary_text", text: "Hm." }] },
      { type: "function_call", name: "shell", call_id: "1", arguments: '{"command":["ls"]}' },
      { type: "function_call_output", call_id: "1", output: "a\nb" },
      { type: "custom_tool_call", name: "apply_patch", call_id: "2", input: "*** Begin\nPatch" },
      { type: "custom_tool_call_output", call_id: "2", output: [{ type: "input_text", text: "Done!" }] },
      { type: "local_shell_call", call_id: "3", action: { command: ["pwd"] } },
      said("assistant", "Mended."),
      said("user", "<turn_aborted>"),
    ];
    expect(await transcriptOf(items)).toEqual([
      user("Mend the test."),
      { from: "tool", text: 'shell {"command":["ls"]}' },
      { from: "output", text: "a\nb" },
      { from: "tool", text: "apply_patch *** Begin Patch" },
      { from: "output", text: "Done!" },
      { from: "tool", text: 'local_shell {"command":["pwd"]}' },
      { from: "agent", text: "Mended." },
    ]);
  });

  it("shortens outputs, and says by how much", async () => {
    const [entry] = await transcriptOf([{ type: "function_call_output", call_id: "1", output: `${"x".repeat(999)}😀${"y".repeat(10)}` }]);
    expect(entry).toEqual({ from: "output", text: `${"x".repeat(999)}… (12 more characters)` });
  });

  it("lets others be served while it is made of a long history", async () => {
    const { value, others } = await withOthers(() => transcriptOf(slowItems()));
    expect([value.length, others]).toEqual([200, true]);
  });
});

describe("pages", () => {
  const AGENT: TranscriptEntry = { from: "agent", text: "yes" };

  it("begin with the last turn, and continue to earlier ones", () => {
    const entries = [user("one"), AGENT, user("two"), AGENT, user("three"), AGENT];
    const last = transcriptPage(entries);
    expect(last).toEqual({ entries: entries.slice(4), turn: 3, turns: 3, earlierCursor: "2.0" });
    const before = transcriptPage(entries, last.earlierCursor);
    expect(before).toEqual({ entries: entries.slice(2), turn: 2, turns: 3, earlierCursor: "0.0" });
    expect(transcriptPage(entries, before.earlierCursor)).toEqual({ entries, turn: 1, turns: 3 });
  });

  it("name the last message of their turn where it is further on", () => {
    const long = "x".repeat(40_000);
    const entries: TranscriptEntry[] = [
      user("one"),
      AGENT,
      user(long),
      AGENT,
      { from: "output", text: long },
      { from: "agent", text: long },
    ];
    const first = transcriptPage(entries);
    expect(first).toMatchObject({ nextCursor: "2.32000", answerCursor: "5.0" });
    expect(transcriptPage(entries, first.nextCursor)).toMatchObject({ nextCursor: "4.23997", answerCursor: "5.0" });
    for (const cursor of ["0.0", "5.0", "5.32000"])
      expect(transcriptPage(entries.slice(0, cursor === "0.0" ? 2 : 6), cursor)).not.toHaveProperty("answerCursor");
    expect(transcriptPage([...entries, user("three")], "2.0")).toMatchObject({ turn: 2, answerCursor: "5.0" });
  });

  it("have everything once together, even if a page ends within a surrogate pair", () => {
    const long = "😀".repeat(50_000);
    const entries: TranscriptEntry[] = [user("go"), { from: "agent", text: long }, AGENT];
    const parts: string[] = [];
    let cursor: string | undefined;
    do {
      const page = transcriptPage(entries, cursor);
      parts.push(...page.entries.map(({ text }) => text));
      expect(page.entries.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThanOrEqual(32_000);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(parts.join("")).toBe(`go${long}yes`);
    expect(parts.some((part) => /^[\uDC00-\uDFFF]|[\uD800-\uDBFF]$/.test(part))).toBe(false);
  });

  it("of a thread without messages are empty", () => {
    expect(transcriptPage([])).toEqual({ entries: [], turn: 1, turns: 0 });
  });

  it.for(["", "1", "9.0", "0.99", "-1.0", "0.0.0", "x"])("do not exist for the cursor %j", (cursor) => {
    expect(() => transcriptPage([user("one")], cursor)).toThrow(InvalidCursor);
  });
});
