import { expect, it } from "vitest";
import { LIBRARIES } from "./libraries.js";
import { clientsPage, type SeenRun } from "./page.js";
import { CHECKS, type Verdicts } from "./verdicts.js";

const PASSED = Object.fromEntries(Object.keys(CHECKS).map((name) => [name, { ok: true, note: "yes" }])) as Verdicts;
const RUN: SeenRun = { version: "1", day: "2026-01-01", verdicts: PASSED };

it("shows what a client cannot do over a transport even after a run that passed, and not for the other transport", () => {
  const inspector = LIBRARIES.filter(({ id }) => id === "inspector");
  const rows = clientsPage(inspector, { inspector: { ...RUN, http: RUN } })
    .split("\n")
    .filter((line) => line.startsWith("| MCP Inspector, command line"));
  const [, first, second, http] = rows;
  expect([first, second]).toEqual([
    "| MCP Inspector, command line | ✓ | ✓ | ✓ | ✓ | ✓ | ✓ |",
    "| MCP Inspector, command line | ✓ | ✗ each call has a server of its own | ✓ | ✓ | ✗ each call has a server of its own | ✓ |",
  ]);
  expect(http).not.toContain("a server of its own");
  expect(http?.match(/✗ each call is a session of its own/g)).toHaveLength(3);
});
