import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { NEWEST_TRIED, publishedCodex } from "../support/codex/codexPeers.js";
import { describeDifference } from "../support/scenarios/compareTranscripts.js";
import { allScenarios } from "../support/scenarios/scenario.js";
import type { Transcript } from "../support/scenarios/transcript.js";
import { differencesIn, expectedFindings, findings, playWithCodex } from "./scenarioComparison.js";
import { AS_NATIVE, OF_CODEX } from "./scenarioDifferences.js";
import { HABITS } from "./scenarioHabits.js";

const program = (await publishedCodex(NEWEST_TRIED)) ?? "";
const SCENARIOS = allScenarios().filter(({ engine }) => engine !== "native");
const played = new Map<string, Transcript>();

describe
  .skipIf(program === "")
  .concurrent(`what was recorded of Codex 0.92.0, played with Codex ${NEWEST_TRIED}`, { timeout: 90_000 }, () => {
    it.for(SCENARIOS.map((scenario) => [`${scenario.name}: ${scenario.about}`, scenario] as const))(
      "%s: every request is answered, the server ends by itself, and nothing differs but what is declared",
      async ([, scenario], context) => {
        const transcript = await playWithCodex(scenario, program);
        played.set(scenario.name, transcript);
        context
          .expect({ unanswered: unanswered(transcript), signals: signalsThatEnded(transcript) })
          .toEqual({ unanswered: [], signals: [null] });
        const differences = differencesIn(scenario.name, transcript);
        context
          .expect(findings(scenario.name, differences), differences.map(describeDifference).join("\n"))
          .toEqual(expectedFindings(scenario.name));
      },
    );
  });

it.for(HABITS)("Codex still differs: $about", (habit, { skip }) => {
  if (played.size < SCENARIOS.length) skip("only some scenarios were played");
  const others = HABITS.filter((other) => other !== habit);
  const affected = [...played].filter(([name, transcript]) => {
    const { undeclared, outcome } = findings(name, differencesIn(name, transcript, others));
    return undeclared.length > 0 || JSON.stringify(outcome) !== JSON.stringify(expectedFindings(name).outcome);
  });
  expect(affected).not.toEqual([]);
});

it("every declared difference is one of a scenario that is played", () => {
  const names = new Set(SCENARIOS.map(({ name }) => name));
  expect([...AS_NATIVE, ...OF_CODEX].flatMap(({ scenarios }) => scenarios.filter((name) => !names.has(name)))).toEqual([]);
});

it("every difference is on the page about compatibility", () => {
  const page = readFileSync(new URL("../../docs/compatibility.md", import.meta.url), "utf8");
  const rows = [
    ...HABITS.map(({ about, difference }) => [about, difference]),
    ...AS_NATIVE.map(({ differs, scenarios }) => [listed(differs), listed(scenarios)]),
    ...OF_CODEX.map(({ why, differs, scenarios }) => [why, listed(differs), listed(scenarios)]),
  ].map((cells) => `| ${cells.join(" | ")} |`);
  expect(rows.filter((row) => !page.includes(row)).join("\n")).toBe("");
});

const ASPECTS = ["answers", "questions", "notifications", "events", "requests", "ending"];

/** Event types and scenario names as code, aspects as plain text. */
function listed(names: readonly string[]): string {
  return names.map((name) => (ASPECTS.includes(name) ? name : `\`${name}\``)).join(", ");
}

/** Requests without an answer. A cancelled request, or one to a server that refused to start, needs none. */
function unanswered(transcript: Transcript): unknown[] {
  if (!transcript.some(({ dir }) => dir === "out")) return [];
  const said = transcript.flatMap((entry) => ("msg" in entry && isMessage(entry.msg) ? [{ dir: entry.dir, ...entry.msg }] : []));
  const answered = new Set(said.filter(({ dir, method }) => dir === "out" && method === undefined).map(({ id }) => id));
  const cancelled = new Set(said.flatMap(({ method, params }) => (method === "notifications/cancelled" ? [params?.["requestId"]] : [])));
  return said
    .filter(({ dir, id, method }) => dir === "in" && method !== undefined && (typeof id === "string" || Number.isInteger(id)))
    .filter(({ id }) => !answered.has(id) && !cancelled.has(id));
}

interface Said {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

function isMessage(value: unknown): value is Said {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function signalsThatEnded(transcript: Transcript): unknown[] {
  const ends = transcript.flatMap((entry) => (entry.dir === "meta" && "exit" in entry.meta ? [entry.meta.exit] : []));
  return [...new Set(ends.map(({ signal }) => signal))];
}
