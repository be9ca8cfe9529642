import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { sandbox } from "./sandbox/available.js";
import { compareTranscripts, describeDifference } from "./support/scenarios/compareTranscripts.js";
import { ownSide } from "./support/scenarios/declaredDifferences/ownSide.js";
import { DECLARED_DIFFERENCES } from "./support/scenarios/declaredDifferences.js";
import { allScenarios, type Condition } from "./support/scenarios/scenario.js";
import { playScenario } from "./support/scenarios/scenarioPlayer.js";
import { recordingOf, type Transcript } from "./support/scenarios/transcript.js";

const SERVER = [
  process.execPath,
  fileURLToPath(new URL("../dist/main.js", import.meta.url)),
  "mcp-server",
  "--engine",
  "native",
  "--tools",
  "codex-original",
] as const;
const SCENARIOS = allScenarios();
const PLAY_TIMEOUT_MS = 60_000;

const played = new Set<string>();
const agreed = new Set<string>();

describe.concurrent("the built server plays what was recorded of Codex 0.92.0", () => {
  it.for(SCENARIOS.map((scenario) => [`${scenario.name}: ${scenario.about}`, scenario] as const))(
    "%s",
    { timeout: PLAY_TIMEOUT_MS },
    async ([, scenario], context) => {
      const recording = recordingOf(scenario.name);
      if (sandbox.backend !== "bubblewrap" && actsOnTheMachine(recording)) context.skip(`needs bubblewrap: ${sandbox.detail}`);
      played.add(scenario.name);
      const transcript = await playScenario(scenario, { command: SERVER, silences: silencesIn(recording) });
      const differences = compareTranscripts(recording, transcript);
      const declared = DECLARED_DIFFERENCES[scenario.name]?.ours ?? {};
      context.expect(ownSide(differences), differences.map(describeDifference).join("\n")).toEqual(declared);
      agreed.add(scenario.name);
    },
  );
});

it("at least 95 % of the scenarios are the same or declared to differ", ({ skip }) => {
  if (played.size < SCENARIOS.length) skip("only some scenarios were played");
  expect(agreed.size / played.size).toBeGreaterThanOrEqual(0.95);
});

it("every declared difference is one of a scenario that is played", () => {
  const names = SCENARIOS.map(({ name }) => name);
  expect(Object.keys(DECLARED_DIFFERENCES).filter((name) => !names.includes(name))).toEqual([]);
});

it("docs/compatibility.md has the numbers of recorded and of different scenarios", () => {
  const page = readFileSync(new URL("../docs/compatibility.md", import.meta.url), "utf8");
  const different = Object.keys(DECLARED_DIFFERENCES).length;
  expect(page).toContain(`recorded for ${SCENARIOS.length} scenarios`);
  expect(page).toContain(`${SCENARIOS.length - different} are the same; the other ${different} differ`);
});

/** Commands and patches run in the recorded sandbox only where the sandbox works; with REQUIRE_SANDBOX=1 its absence is a failure. */
function actsOnTheMachine(recording: Transcript): boolean {
  return recording.some((entry) => /"type":"(exec_command|patch_apply)_begin"/.test(JSON.stringify(entry)));
}

function silencesIn(recording: Transcript): Condition[] {
  return recording.flatMap((entry) => (entry.dir === "meta" && "noSuchMessage" in entry.meta ? [entry.meta.noSuchMessage] : []));
}
