import { describe } from "vitest";
import { codexMethodsContract } from "../contracts/codexMethods.js";
import { NEWEST_TRIED, publishedCodex } from "../support/codex/codexPeers.js";

const program = (await publishedCodex(NEWEST_TRIED)) ?? "";

describe.skipIf(program === "")("with the real Codex", () => {
  codexMethodsContract(`codex ${NEWEST_TRIED}`, () => ({
    engine: "codex",
    args: ["--engine", "codex", "--codex-bin", program],
    lacks: [],
  }));
});
