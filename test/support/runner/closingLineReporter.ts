import type { Reporter, TestCase, TestModule } from "vitest/node";

interface Counts {
  passed: number;
  failed: number;
  skipped: number;
}

/**
 * Ends the run's output with `N passed, N failed, N skipped`, alone on the last line, for programs that read it.
 * Lines before it name the tests that failed first and passed when they were repeated. A file that does not load, an error outside any test and an incomplete run count as failed.
 */
// The test runner takes a reporter from a file's default export.
export default class ClosingLineReporter implements Reporter {
  #counts: Counts = { passed: 0, failed: 1, skipped: 0 };
  readonly #repeated: string[] = [];

  onInit(): void {
    process.once("exit", () => {
      const { passed, skipped } = this.#counts;
      const failed = this.#counts.failed || (process.exitCode ? 1 : 0);
      for (const name of this.#repeated) process.stdout.write(`passed only when repeated: ${name}\n`);
      process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`);
    });
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    const counts: Counts = { passed: 0, failed: unhandledErrors.length, skipped: 0 };
    for (const module of modules) {
      counts.failed += brokenSuites(module);
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        counts[state === "pending" ? "skipped" : state]++;
        if (state === "passed" && wasRepeated(test)) this.#repeated.push(`${module.relativeModuleId} > ${test.fullName}`);
      }
    }
    this.#counts = counts;
  }
}

function wasRepeated(test: TestCase): boolean {
  return (test.diagnostic()?.retryCount ?? 0) > 0;
}

function brokenSuites(module: TestModule): number {
  return [module, ...module.children.allSuites()].filter((suite) => suite.errors().length > 0).length;
}
