import { describe, expect, it } from "vitest";
import { SeededRandom } from "../../../test/support/patch/random.js";
import { unifiedDiff } from "./unifiedDiff.js";

const NUMBERS = Array.from({ length: 12 }, (_, n) => `${n + 1}\n`).join("");

describe("the hunks of a diff", () => {
  it.each([
    ["a changed line", "old\n", "new\n", "@@ -1 +1 @@\n-old\n+new\n"],
    ["equal texts", "a\nb\n", "a\nb\n", ""],
    ["a new text", "", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"],
    ["a text that is gone", "a\n", "", "@@ -1 +0,0 @@\n-a\n"],
    ["one line of context on each side", NUMBERS, NUMBERS.replace("5\n", "five\n"), "@@ -4,3 +4,3 @@\n 4\n-5\n+five\n 6\n"],
    [
      "changes whose context meets",
      NUMBERS,
      NUMBERS.replace("5\n", "").replace("8\n", "eight\n"),
      "@@ -4,6 +4,5 @@\n 4\n-5\n 6\n 7\n-8\n+eight\n 9\n",
    ],
    [
      "changes further apart",
      NUMBERS,
      NUMBERS.replace("5\n", "").replace("9\n", "nine\n"),
      "@@ -4,3 +4,2 @@\n 4\n-5\n 6\n@@ -8,3 +7,3 @@\n 8\n-9\n+nine\n 10\n",
    ],
    ["a last line end added", "a\nb", "a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"],
    ["a last line end missing on both sides", "a\nb", "A\nb", "@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n"],
    ["a repeated line added", "a\nb\n", "a\na\nb\n", "@@ -1,2 +1,3 @@\n a\n+a\n b\n"],
    ["Windows line ends", "a\r\nb\r\n", "a\r\nB\r\n", "@@ -1,2 +1,2 @@\n a\r\n-b\r\n+B\r\n"],
  ])("%s", (_, before, after, diff) => {
    expect(unifiedDiff(before, after, { context: 1 })).toBe(diff);
  });

  it("have the requested lines of context", () => {
    const after = NUMBERS.replace("6\n", "six\n");
    expect(unifiedDiff(NUMBERS, after, { context: 3 })).toBe("@@ -3,7 +3,7 @@\n 3\n 4\n 5\n-6\n+six\n 7\n 8\n 9\n");
    expect(unifiedDiff(NUMBERS, after, { context: 0 })).toBe("@@ -6 +6 @@\n-6\n+six\n");
  });
});

describe("any two texts", () => {
  it("have a diff that turns one into the other, and back", () => {
    const random = new SeededRandom(20260805);
    for (let round = 0; round < 500; round++) {
      const [before, after] = [randomText(random), randomText(random)];
      const diff = unifiedDiff(before, after, { context: random.below(4) });
      expect([followed(before, diff), followed(after, reversed(diff))]).toEqual([after, before]);
    }
  });

  it("that differ in very many lines are still compared line by line", () => {
    const lines = Array.from({ length: 30_000 }, (_, n) => `line ${n}\n`);
    const after = lines.map((line, n) => (n % 3 === 0 ? `changed ${line}` : line)).join("");
    const diff = unifiedDiff(lines.join(""), after, { context: 0 });
    expect(diff.match(/^@@/gm)).toHaveLength(10_000);
    expect(followed(lines.join(""), diff)).toBe(after);
  });

  it("of hundreds of thousands of lines are compared: gone, new, or changed throughout", () => {
    const many = (start: string) => Array.from({ length: 300_000 }, (_, n) => `${start}${n}\n`).join("");
    const [before, after] = [many("a"), many("b")];
    expect(unifiedDiff(before, "", { context: 3 }).length).toBe(before.length + 300_000 + "@@ -1,300000 +0,0 @@\n".length);
    expect(unifiedDiff("", after, { context: 3 }).startsWith("@@ -0,0 +1,300000 @@\n+b0\n+b1\n")).toBe(true);
    expect(unifiedDiff(before, after, { context: 3 }).length).toBe(2 * before.length + 600_000 + "@@ -1,300000 +1,300000 @@\n".length);
  });

  it("that differ in hundreds of long parts are compared line by line up to a limit, and then part by part", () => {
    const random = new SeededRandom(500);
    const part = (n: number) => [`part ${n}`, ...Array.from({ length: 500 }, () => random.pick(["a", "b", "c", "d", "e", "f", "g", "h"]))];
    const text = () => `${Array.from({ length: 300 }, (_, n) => part(n).join("\n")).join("\n")}\n`;
    const [before, after] = [text(), text()];
    const diff = unifiedDiff(before, after, { context: 0 });
    expect(followed(before, diff)).toBe(after);
    expect(/^@@ -\d(?:,\d+)? /.test(diff)).toBe(true);
    const [, replaced] = /^@@ -\d+,(\d+) \+\d+,\d+ @@(?![\s\S]*^@@)/m.exec(diff) ?? [];
    expect(Number(replaced)).toBeGreaterThan(400);
  });

  it("that share only repeated lines are compared, too", () => {
    const before = Array.from({ length: 3_000 }, (_, n) => `${n % 7}\n`).join("");
    const after = Array.from({ length: 3_000 }, (_, n) => `${(n * n) % 11}\n`).join("");
    expect(followed(before, unifiedDiff(before, after, { context: 3 }))).toBe(after);
  });
});

function randomText(random: SeededRandom): string {
  const lines = random.several(0, 30, () => random.pick(["a", "b", "c", "", "d "]));
  return lines.join("\n") + (random.chance(0.7) && lines.length > 0 ? "\n" : "");
}

/** Applies a diff by its line numbers, and checks its claims about the old text. */
function followed(before: string, diff: string): string {
  const old = before.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const result: string[] = [];
  let next = 0;
  for (const line of diff.replaceAll("\n\\ No newline at end of file\n", "\0").match(/[^\n\0]*[\n\0]/g) ?? []) {
    const content = line.slice(1).replace("\0", "");
    const header = /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@\n$/.exec(line);
    if (header !== null) {
      const start = Number(header[1]) - (header[2] === "0" ? 0 : 1);
      result.push(...old.slice(next, start));
      next = start;
    } else if (line.startsWith("+")) result.push(content);
    else {
      if (old[next] !== content) throw new Error(`line ${next + 1} is not ${JSON.stringify(content)}`);
      if (line.startsWith(" ")) result.push(content);
      next++;
    }
  }
  return [...result, ...old.slice(next)].join("");
}

function reversed(diff: string): string {
  return diff
    .replaceAll(/^@@ -(\S+) \+(\S+) @@$/gm, "@@ ~$2 +$1 @@")
    .replaceAll(/^-/gm, "~")
    .replaceAll(/^\+/gm, "-")
    .replaceAll(/^~/gm, "+")
    .replaceAll("@@ ~", "@@ -");
}
