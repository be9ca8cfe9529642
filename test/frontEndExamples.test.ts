import { afterAll } from "vitest";
import { codexMethodsContract } from "./contracts/codexMethods.js";
import { buildAppServerDouble } from "./support/codex/appServerDouble.js";

const double = await buildAppServerDouble();
afterAll(() => double[Symbol.dispose]());

codexMethodsContract("native", () => ({ engine: "native", args: ["--engine", "native"], lacks: [] }));
codexMethodsContract("codex (double)", () => ({
  engine: "codex",
  args: ["--engine", "codex", "--codex-bin", double.program],
  lacks: ["records", "commands", "images"],
  model: "model-of-the-double",
}));
