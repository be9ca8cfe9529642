import { MAIN } from "../support/processes/mcpServer.js";
import { type Aspect, compareTranscripts, type Difference } from "../support/scenarios/compareTranscripts.js";
import { type OwnSide, ownSide } from "../support/scenarios/declaredDifferences/ownSide.js";
import { DECLARED_DIFFERENCES } from "../support/scenarios/declaredDifferences.js";
import type { Condition, Scenario } from "../support/scenarios/scenario.js";
import { playScenario } from "../support/scenarios/scenarioPlayer.js";
import { recordingOf, type Transcript } from "../support/scenarios/transcript.js";
import { AS_NATIVE, OF_CODEX, OUTCOMES_OF_CODEX, placeOf } from "./scenarioDifferences.js";
import { HABITS, type Habit } from "./scenarioHabits.js";

export function playWithCodex(scenario: Scenario, program: string): Promise<Transcript> {
  const command = [process.execPath, MAIN, "mcp-server", "--engine", "codex", "--tools", "codex-original", "--codex-bin", program] as const;
  return playScenario(scenario, { command, silences: silencesIn(recordingOf(scenario.name)) });
}

/** The differences between the recording and the played scenario, apart from the general differences of the newer Codex. */
export function differencesIn(scenario: string, played: Transcript, habits: readonly Habit[] = HABITS): Difference[] {
  return compareTranscripts(
    habits.reduce((transcript, habit) => habit.ofRecorded(transcript), recordingOf(scenario)),
    habits.reduce((transcript, habit) => habit.ofPlayed(transcript), played),
  );
}

/** Everything that the client receives and that stays behind. These aspects must be equal; the others may differ in wording. */
const OUTCOME: readonly Aspect[] = ["answers", "questions", "notifications", "ending"];

export interface Findings {
  readonly undeclared: readonly string[];
  readonly gone: readonly string[];
  readonly outcome: OwnSide;
}

export function findings(scenario: string, differences: readonly Difference[]): Findings {
  const declared = [...AS_NATIVE, ...OF_CODEX].filter(({ scenarios }) => scenarios.includes(scenario));
  const possible = new Set(declared.flatMap(({ differs }) => differs));
  const certain = new Set(declared.flatMap(({ differs, varies }) => (varies ? [] : differs)));
  const found = new Set(differences.map(placeOf));
  return {
    undeclared: [...found].filter((place) => !possible.has(place)),
    gone: [...certain].filter((place) => !found.has(place)),
    outcome: ownSide(differences.filter(({ aspect }) => OUTCOME.includes(aspect))),
  };
}

/** The declared differences: all of them occur, and the outcome is that of the engine native unless another one is declared. */
export function expectedFindings(scenario: string): Findings {
  return { undeclared: [], gone: [], outcome: OUTCOMES_OF_CODEX[scenario] ?? outcomeIn(DECLARED_DIFFERENCES[scenario]?.ours ?? {}) };
}

function outcomeIn(side: OwnSide): OwnSide {
  return Object.fromEntries(OUTCOME.flatMap((aspect) => (side[aspect] ? [[aspect, side[aspect]]] : [])));
}

function silencesIn(recording: Transcript): Condition[] {
  return recording.flatMap((entry) => (entry.dir === "meta" && "noSuchMessage" in entry.meta ? [entry.meta.noSuchMessage] : []));
}
