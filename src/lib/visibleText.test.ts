import { describe, expect, it } from "vitest";
import { visible, visibleLines } from "./visibleText.js";

describe("text from elsewhere", () => {
  it.for([
    ["touch made.txt", "touch made.txt"],
    ["naïve 名前 🎉 שלום", "naïve 名前 🎉 שלום"],
    ["a\nb\r\tc", "a\\nb\\r\\tc"],
    ["\u001b[2J\u001b]0;title\u0007", "\\u{1b}[2J\\u{1b}]0;title\\u{7}"],
    ["\0\b\u007f\u0085\u009b31m", "\\u{0}\\u{8}\\u{7f}\\u{85}\\u{9b}31m"],
    ["a\u202etxt.exe\u202c\u2066x\u2069", "a\\u{202e}txt.exe\\u{202c}\\u{2066}x\\u{2069}"],
    ["\u200e\u200f\u061c", "\\u{200e}\\u{200f}\\u{61c}"],
    ["r\u200bm\u2060 \ufeff\u00ad", "r\\u{200b}m\\u{2060} \\u{feff}\\u{ad}"],
    ["a\u2028b\u2029c", "a\\u{2028}b\\u{2029}c"],
    ["\u{e0001}\u{e0041}\u{e007f}", "\\u{e0001}\\u{e0041}\\u{e007f}"],
    ["\u3164\u115f\u2800\ufe0f", "\\u{3164}\\u{115f}\\u{2800}\\u{fe0f}"],
    ["\ud83dx", "\\u{d83d}x"],
  ])("%j becomes %j", ([text = "", shown]) => {
    expect(visible(text)).toBe(shown);
  });

  it("keeps its lines, and none can pass for a line of ours", () => {
    expect(visibleLines("cat <<EOF\n\u001b[1A\r\nAllow?\nEOF")).toBe("cat <<EOF\n  | \\u{1b}[1A\\r\n  | Allow?\n  | EOF");
  });
});
