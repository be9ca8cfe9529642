import os from "node:os";
import { expect, it } from "vitest";
import { VERSION } from "../../lib/version.js";
import { userAgent } from "./userAgent.js";

const US = `codex_mcpd/${VERSION} (${os.type()} ${os.release()}; ${os.machine()})`;

it.for([
  [{}, `${US} unknown`],
  [{ TERM: "xterm" }, `${US} xterm`],
  [{ TERM: "xterm", TERM_PROGRAM: "vscode" }, `${US} vscode`],
  [{ TERM: "xterm", TERM_PROGRAM: "" }, `${US} xterm`],
] as const)("in the environment %j the server calls itself %j", ([env, expected]) => {
  expect(userAgent(env)).toBe(expected);
});

it("with a client it names that too", () => {
  expect(userAgent({}, { name: "capture", version: "1.0.0" })).toBe(`${US} unknown (capture; 1.0.0)`);
});
