import { describe, it } from "vitest";
import { publishedCodex } from "../support/codex/codexPeers.js";
import { describeDifference } from "../support/scenarios/compareTranscripts.js";
import { allScenarios } from "../support/scenarios/scenario.js";
import { differencesIn, expectedFindings, findings, playWithCodex } from "./scenarioComparison.js";
import { codexEngineContract, codexServicesContract, codexWorkContract } from "./versionContract.js";

/** A start, replies, approvals, patches, cancelling, and a resume after a restart. */
const HANDFUL = [
  "cancel-mid-shell",
  "cancel-mid-stream",
  "escalate-decision-approved",
  "exec-action-cancel",
  "exec-decision-approved",
  "exec-on-request-denied",
  "exec-session",
  "patch-approved",
  "patch-ro-approved",
  "patch-ro-denied",
  "reply-after-cancel",
  "reply-after-restart",
  "reply-conversation-id",
  "turn-simple",
  "two-calls",
  "two-on-one-thread",
];
const TIMEOUT_MS = 120_000;

/**
 * Tests a Codex with its default model against the contract of every engine. Each version has a file of its own, so that the files run in
 * parallel.
 */
export async function defaultModelSuite(version: string): Promise<void> {
  const program = await publishedCodex(version);
  describe.skipIf(program === undefined)(`Codex ${version} with its default model`, () => {
    if (program === undefined) return;
    const codex = { version, program, model: undefined };
    const patience = { timeoutMs: TIMEOUT_MS };
    codexEngineContract(codex, patience);
    codexWorkContract(codex, patience);
    codexServicesContract(codex, patience);
  });
}

/**
 * Tests an older Codex against the same contract as the newest one, and with scenarios that may have no other differences. Each version has
 * a file of its own, so that the files run in parallel.
 */
export async function versionSuite(version: string): Promise<void> {
  const program = await publishedCodex(version);
  describe.skipIf(program === undefined)(`Codex ${version}`, () => {
    if (program === undefined) return;
    codexEngineContract({ version, program, model: "mock-model" }, { timeoutMs: TIMEOUT_MS });

    describe.concurrent("plays what was recorded of 0.92.0 as the newest does", { timeout: TIMEOUT_MS }, () => {
      const scenarios = allScenarios().filter(({ name }) => HANDFUL.includes(name));
      it.for(scenarios.map((scenario) => [`${scenario.name}: ${scenario.about}`, scenario] as const))(
        "%s",
        async ([, scenario], context) => {
          const differences = differencesIn(scenario.name, await playWithCodex(scenario, program));
          context
            .expect(findings(scenario.name, differences), differences.map(describeDifference).join("\n"))
            .toEqual(expectedFindings(scenario.name));
        },
      );
    });
  });
}
