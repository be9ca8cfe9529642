// Imports recordings of the reference, reduced to facts of the wire: no descriptions, instruction texts, log lines or times.
//   node scripts/run-ts.mjs scripts/reduce-recordings.ts FOLDER [VERSION]
// Format the scenarios afterwards. FOLDER contains scenarios/NAME.json and VERSION/NAME.ndjson.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { isRecord, parseScenario, type Scenario, valueAt } from "../test/support/scenarios/scenario.js";
import { stabilise, WORDING } from "../test/support/scenarios/stabilise.js";
import { type Entry, parseTranscript, type Remark } from "../test/support/scenarios/transcript.js";

// Without an AGENTS.md this item has only the reference's catalogue of skills, which is not a fact of the wire.
const PROJECT_INSTRUCTIONS = /^(<project instructions|# AGENTS\.md instructions)/;
const REFERENCE_TEXT = /^(<permissions instructions|# AGENTS\.md instructions|<project instructions|You are )/;
/** Scenarios that wait for this event, where the recording's client slept for a guessed time. Newer versions of Codex do not send the event. */
const EVENT_INSTEAD_OF_SLEEP: Readonly<Record<string, string>> = { "cancel-mid-shell": "exec_command_output_delta" };

const [folder, version = "0.92.0"] = process.argv.slice(2);
if (folder === undefined) throw new Error("Name the folder that contains the recordings.");

mkdirSync("test/scenarios", { recursive: true });
mkdirSync("test/recordings", { recursive: true });
for (const file of readdirSync(path.join(folder, "scenarios")).sort()) {
  const text = readFileSync(path.join(folder, "scenarios", file), "utf8");
  const { versions: _, ...scenario } = JSON.parse(text);
  const recording = path.join(folder, version, `${scenario.name}.ndjson`);
  if (!existsSync(recording)) continue;
  const hasProjectInstructions = scenario.files?.["AGENTS.md"] !== undefined;
  const recorded = parseTranscript(readFileSync(recording, "utf8"));
  const entries = stabilise(recorded.flatMap((entry) => (hasProjectInstructions ? entry : withoutSkills(entry))).flatMap(reduced));
  writeFileSync(`test/scenarios/${scenario.name}.json`, `${JSON.stringify(withoutGuesses(parseScenario(scenario)), null, 2)}\n`);
  writeFileSync(`test/recordings/${scenario.name}.jsonl`, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
}

function withoutGuesses(scenario: Scenario): Scenario {
  const event = EVENT_INSTEAD_OF_SLEEP[scenario.name];
  if (event === undefined) return scenario;
  return { ...scenario, steps: scenario.steps.map((step) => ("sleep" in step ? { wait: { event }, timeout: 10_000 } : step)) };
}

function withoutSkills(entry: Entry): Entry[] {
  if (entry.dir !== "out" && entry.dir !== "model") return [entry];
  if (!("msg" in entry) || !isRecord(entry.msg)) return [entry];
  if (holdsProjectInstructions(valueAt(entry.msg, "params.msg.item"))) return [];
  const { input } = entry.msg;
  if (!Array.isArray(input)) return [entry];
  return [{ ...entry, msg: { ...entry.msg, input: input.filter((item) => !holdsProjectInstructions(item)) } }];
}

function holdsProjectInstructions(item: unknown): boolean {
  const text = valueAt(item, "content.0.text");
  return typeof text === "string" && PROJECT_INSTRUCTIONS.test(text);
}

function reduced(entry: Entry): Entry[] {
  if (entry.dir === "err") return [];
  if ("raw" in entry) return [{ dir: entry.dir, raw: entry.raw }];
  // A wait that another message ended is no fact about the server.
  if (entry.dir === "meta" && "cameInstead" in entry.meta) return [];
  if (entry.dir === "meta") return [{ dir: "meta", meta: reducedRemark(entry.meta) }];
  if (entry.dir === "out") return [{ dir: "out", msg: withoutProse(entry.msg) }];
  if (entry.dir === "model") return [{ dir: "model", msg: reducedRequest(entry.msg) }];
  return [{ dir: entry.dir, msg: entry.msg }];
}

function reducedRemark(remark: Remark): Remark {
  if ("exit" in remark) return { exit: { code: remark.exit.code, signal: remark.exit.signal } };
  if ("noSuchMessage" in remark) return { noSuchMessage: remark.noSuchMessage };
  if ("processesLeft" in remark) return { processesLeft: remark.processesLeft.map(withoutInstallation) };
  if ("processes" in remark) return { processes: remark.processes.map(withoutInstallation) };
  return remark;
}

function withoutInstallation(commandLine: string): string {
  return commandLine.endsWith("mcp-server") ? "<BIN> mcp-server" : commandLine;
}

/** Tools are recorded by name in the reference's set, which differs from ours. */
function reducedRequest(request: unknown): unknown {
  if (!isRecord(request)) return request;
  const { tools: _, ...asked } = request;
  return withoutProse(asked);
}

function withoutProse(value: unknown): unknown {
  if (typeof value === "string") return REFERENCE_TEXT.test(value) ? WORDING : value;
  if (Array.isArray(value)) return value.map(withoutProse);
  if (!isRecord(value)) return value;
  if (value["type"] === "warning") return { ...value, message: WORDING };
  if (value["type"] === "deprecation_notice") return { ...value, summary: WORDING, details: WORDING };
  const kept = Object.entries(value).filter(([key]) => key !== "description");
  return Object.fromEntries(kept.map(([key, entry]) => [key, withoutProse(entry)]));
}
