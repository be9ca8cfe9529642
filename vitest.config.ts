import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/support/runner/longestFirst.js";

/** Tests that drive published versions of the Codex CLI, which are installed for them. They take minutes: `npm run test:codex`. */
const WITH_REAL_CODEX = "test/codex/**";
/** Attacks and invented input. A part of each also runs with the other tests; all of it: `npm run attack`. */
const ATTACKS = "test/{attack,fuzz}/**";
/** Whole scenes, which take minutes. */
const LONG_ATTACKS = "test/attack/{codexEngine,hostileWorkspace}.test.ts";
/** Other tests that take minutes: `npm run test:long`. */
const LONG = ["test/soak.test.ts", "test/stateless/inspector.test.ts"];
/** The console in a real browser, which is installed for them: `npm run test:browser`. */
const IN_BROWSER = "test/browser/**";
const onlyRealCodex = process.env["TESTS"] === "codex";
const onlyAttacks = process.env["TESTS"] === "attack";
const onlyLong = process.env["TESTS"] === "long";
const onlyBrowser = process.env["TESTS"] === "browser";

function included(): string[] {
  if (onlyRealCodex) return [`${WITH_REAL_CODEX}/*.test.ts`];
  if (onlyAttacks) return [`${ATTACKS}/*.test.ts`];
  if (onlyLong) return LONG;
  if (onlyBrowser) return [`${IN_BROWSER}/*.test.ts`];
  return ["{src,test,bench,console}/**/*.test.ts"];
}

export default defineConfig({
  test: {
    include: included(),
    exclude: onlyRealCodex || onlyAttacks || onlyLong || onlyBrowser ? [] : [WITH_REAL_CODEX, IN_BROWSER, LONG_ATTACKS, ...LONG],
    globalSetup: ["test/support/runner/globalSetup.ts"],
    reporters: ["default", "./test/support/runner/closingLineReporter.ts"],
    // Long limits, for a busy machine. Tests that pass take no longer because of them.
    testTimeout: onlyAttacks || onlyBrowser ? 90_000 : 60_000,
    hookTimeout: 60_000,
    // Polling ends with the condition; the usual second is too short when the machine is busy.
    expect: { poll: { timeout: 45_000 } },
    pool: "forks",
    // Files share the modules that a worker has loaded: loading them for each of 350 files took as long as a third of the tests.
    isolate: false,
    maxConcurrency: 4,
    // One more than the cores of a small machine: most tests wait for processes and sockets, not for the CPU.
    maxWorkers: onlyRealCodex || onlyBrowser || onlyLong || onlyAttacks ? 2 : 3,
    // Programs of others vary in their timing, so tests with them are repeated when they fail. A landing should not fail because one of thousands
    // of tests met a moment of a busy machine. The end of a run names each test that had to be repeated.
    retry: onlyRealCodex || onlyBrowser ? 2 : process.env["CI"] ? 1 : 0,
    sequence: { sequencer: LongestFirst },
  },
});
