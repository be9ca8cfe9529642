import { expect, it } from "vitest";
import { stderrText } from "./stderrText.js";

it("is the message behind the program's name, then what is known about it", () => {
  expect(stderrText("ignored a message: not JSON")).toBe("codex-mcp-server: ignored a message: not JSON\n");
  expect(stderrText("turn ended", { outcome: "completed", ms: 12, cause: "two words", at: undefined, left: null })).toBe(
    'codex-mcp-server: turn ended outcome=completed ms=12 cause="two words" left=null\n',
  );
});

it("no text can pass for a line of its own or steer the terminal", () => {
  expect(stderrText("failed: Error: x\n    at y\r\ncodex-mcp-server: all is well\u001b[2J\u0007\n")).toBe(
    "codex-mcp-server: failed: Error: x\n    at y\n    codex-mcp-server: all is well\ufffd[2J\ufffd\n",
  );
  expect(stderrText("x", { cause: "a\ncodex-mcp-server: b\u009b" })).toBe('codex-mcp-server: x cause="a\\ncodex-mcp-server: b\ufffd"\n');
});
