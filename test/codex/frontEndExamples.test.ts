import { describe } from "vitest";
import { codexMethodsContract } from "../contracts/codexMethods.js";
import { publishedCodex } from "../support/codex/codexPeers.js";

const program = (await publishedCodex("0.166.0")) ?? "";

describe.skipIf(program === "")("with the real Codex", () => {
  codexMethodsContract("codex 0.166.0", () => ({ engine: "codex", args: ["--engine", "codex", "--codex-bin", program], lacks: [] }));
});
