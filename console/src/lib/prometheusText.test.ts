import { expect, it } from "vitest";
import { prometheusSamples, total } from "./prometheusText.js";

const TEXT = `# HELP x Numbers
# TYPE x counter
x{kind="a",of="say \\"hi\\""} 2
x{kind="b"} 3.5
y 1e3
z NaN
not a line`;

it("reads the lines that are samples", () => {
  expect(prometheusSamples(TEXT)).toEqual([
    { name: "x", labels: { kind: "a", of: 'say "hi"' }, value: 2 },
    { name: "x", labels: { kind: "b" }, value: 3.5 },
    { name: "y", labels: {}, value: 1_000 },
  ]);
});

it("adds up the samples of a name and labels", () => {
  const samples = prometheusSamples(TEXT);
  expect([total(samples, "x"), total(samples, "x", { kind: "b" }), total(samples, "q")]).toEqual([5.5, 3.5, undefined]);
});
