import { readFileSync } from "node:fs";
import type { Condition } from "./scenario.js";

/** What the recorder observed besides messages. */
export type Remark =
  | { readonly eof: true }
  | { readonly signal: string }
  | { readonly restart: true }
  | { readonly exit: { readonly code: number | null; readonly signal: string | null } }
  | { readonly stillRunningAfterMs: number }
  | { readonly processesLeft: readonly string[] }
  | { readonly processes: readonly string[] }
  | { readonly files: Readonly<Record<string, string>> }
  | { readonly noSuchMessage: Condition }
  | { readonly notSent: unknown };

/** One line of a transcript: input, output, an observation or a request to the model. */
export type Entry =
  | { readonly dir: "in" | "out"; readonly msg: unknown }
  | { readonly dir: "in" | "out" | "err"; readonly raw: string }
  | { readonly dir: "meta"; readonly meta: Remark }
  | { readonly dir: "model"; readonly msg: unknown };

export type Transcript = readonly Entry[];

/** The reference's transcript of this scenario. */
export function recordingOf(scenarioName: string): Transcript {
  return parseTranscript(readFileSync(new URL(`../../recordings/${scenarioName}.jsonl`, import.meta.url), "utf8"));
}

export function parseTranscript(lines: string): Transcript {
  // Recordings are written by our own script; a line of another shape would show as a difference.
  return lines
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Entry);
}
