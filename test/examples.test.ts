import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { runToEnd } from "./support/processes/runToEnd.js";

/** `npm run examples` runs them as well; the shell's example has a test of its own. */
const EXAMPLES = readdirSync("examples").filter((file) => file.endsWith(".ts"));

it.each(EXAMPLES)("the example %s works as it says", async (file) => {
  const { code, stdout, stderr } = await runToEnd([process.execPath, "scripts/run-ts.mjs", `examples/${file}`]);
  expect(code, stderr).toBe(0);
  expect(stdout).not.toBe("");
});
