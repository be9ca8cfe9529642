import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that always take long; if they were started last, they would run alone at the end. */
const LONG = [
  "test/scenarios.test.ts",
  "test/conformance/conformance.test.ts",
  "test/enginesCodexDouble.test.ts",
  "test/sandbox/hostile.test.ts",
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const usual = await super.sort(files);
    const rank = ({ moduleId }: TestSpecification) => LONG.findIndex((file) => moduleId.endsWith(file));
    const long = usual.filter((file) => rank(file) >= 0).sort((a, b) => rank(a) - rank(b));
    return [...long, ...usual.filter((file) => rank(file) < 0)];
  }
}
