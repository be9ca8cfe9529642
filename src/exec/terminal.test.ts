import { expect, it } from "vitest";
import { onTerminal } from "./terminal.js";

it("a terminal is made by the system's own program, wherever PATH leads", () => {
  const [program] = onTerminal(["true"]);
  expect(program).toMatch(/^\/(?:usr\/)?bin\/script$/);
});
