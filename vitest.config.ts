import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/support/longestFirst.js";

/** Tests that drive published versions of the Codex CLI, which are installed for them. They take minutes: `npm run test:codex`. */
const WITH_REAL_CODEX = "test/codex/**";
const onlyRealCodex = process.env["TESTS"] === "codex";

export default defineConfig({
  test: {
    include: onlyRealCodex ? [`${WITH_REAL_CODEX}/*.test.ts`] : ["{src,test,bench}/**/*.test.ts"],
    exclude: onlyRealCodex ? [] : [WITH_REAL_CODEX],
    globalSetup: ["test/support/globalSetup.ts"],
    reporters: ["default", "./test/support/closingLineReporter.ts"],
    testTimeout: 20_000,
    hookTimeout: 60_000,
    pool: "forks",
    maxConcurrency: 4,
    maxWorkers: 2,
    // The timing of somebody else's program is not ours to hold.
    retry: onlyRealCodex ? 2 : 0,
    sequence: { sequencer: LongestFirst },
  },
});
