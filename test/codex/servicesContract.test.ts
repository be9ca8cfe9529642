import { NEWEST_TRIED, publishedCodex } from "../support/codex/codexPeers.js";
import { codexServicesContract, codexWorkContract } from "./versionContract.js";

const version = NEWEST_TRIED;
const program = await publishedCodex(version);
const patience = { timeoutMs: 120_000 };

if (program !== undefined) {
  codexWorkContract({ version, program, model: "mock-model" }, patience);
  codexServicesContract({ version, program, model: "mock-model" }, patience);
}
