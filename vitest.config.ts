import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["{src,test,bench}/**/*.test.ts"],
    globalSetup: ["test/support/globalSetup.ts"],
    reporters: ["default", "./test/support/closingLineReporter.ts"],
    testTimeout: 20_000,
    hookTimeout: 60_000,
    pool: "forks",
    maxConcurrency: 4,
  },
});
