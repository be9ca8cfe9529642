import { expect, it } from "vitest";
import { visibleLine, visibleText } from "./visibleText.js";

it("shows bidirectional and invisible characters as escapes", () => {
  expect(visibleText("cat a\u202etxt.exe")).toBe("cat a\\u{202e}txt.exe");
  expect(visibleText("rm\u200b -rf\u0007 \u{e0041}")).toBe("rm\\u{200b} -rf\\u{7} \\u{e0041}");
  expect(visibleText("\u001b[2Kls")).toBe("\\u{1b}[2Kls");
});

it("leaves text of any language and line breaks unchanged", () => {
  const text = "Größe\tשלום\n日本語 👩‍💻".replace("\u200d", "");
  expect(visibleText(text)).toBe(text);
  expect(visibleText("a\r\nb")).toBe("a\nb");
});

it("shows a text of several lines on one line", () => {
  expect(visibleLine("echo a\nrm b\tc")).toBe("echo a\\nrm b\\tc");
});
