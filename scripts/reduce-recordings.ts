// Takes over recordings of the reference, as facts of the wire only: no descriptions, instruction texts, log lines or times.
//   node scripts/run-ts.mjs scripts/reduce-recordings.ts FOLDER [VERSION]
// and format the scenarios afterwards. FOLDER holds scenarios/NAME.json and VERSION/NAME.ndjson. Scenarios that need a command, a patch or an MCP server are left out.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { isRecord, parseScenario, valueAt } from "../test/support/scenario.js";
import { stabilise, WORDING } from "../test/support/stabilise.js";
import { type Entry, parseTranscript, type Remark } from "../test/support/transcript.js";

const OUT_OF_SCOPE = /^(exec|patch|escalate|shell|mcp)-|^turn-view-image$/;
const TOOL_DIRECTIVE = /!(shell|escalate|patch|rawpatch|both|call|item)\b/;
// Without an AGENTS.md this item holds nothing but the reference's catalogue of skills: neither of the wire nor ours.
const PROJECT_INSTRUCTIONS = /^(<project instructions|# AGENTS\.md instructions)/;
const REFERENCE_TEXT = /^(<permissions instructions|# AGENTS\.md instructions|<project instructions|You are a coding agent)/;

const [folder, version = "0.92.0"] = process.argv.slice(2);
if (folder === undefined) throw new Error("Say which folder holds the recordings.");

mkdirSync("test/scenarios", { recursive: true });
mkdirSync("test/recordings", { recursive: true });
for (const file of readdirSync(path.join(folder, "scenarios")).sort()) {
  const text = readFileSync(path.join(folder, "scenarios", file), "utf8");
  const { versions: _, ...scenario } = JSON.parse(text);
  const recording = path.join(folder, version, `${scenario.name}.ndjson`);
  if (!existsSync(recording) || OUT_OF_SCOPE.test(scenario.name) || TOOL_DIRECTIVE.test(text)) continue;
  const hasProjectInstructions = scenario.files?.["AGENTS.md"] !== undefined;
  const recorded = parseTranscript(readFileSync(recording, "utf8"));
  const entries = stabilise(recorded.flatMap((entry) => (hasProjectInstructions ? entry : withoutSkills(entry))).flatMap(reduced));
  writeFileSync(`test/scenarios/${scenario.name}.json`, `${JSON.stringify(parseScenario(scenario), null, 2)}\n`);
  writeFileSync(`test/recordings/${scenario.name}.jsonl`, entries.map((entry) => `${JSON.stringify(entry)}\n`).join(""));
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
  if (entry.dir === "meta") return [{ dir: "meta", meta: reducedRemark(entry.meta) }];
  if (entry.dir === "out") return [{ dir: "out", msg: withoutProse(entry.msg) }];
  if (entry.dir === "model") return [{ dir: "model", msg: reducedRequest(entry.msg) }];
  return [{ dir: entry.dir, msg: entry.msg }];
}

function reducedRemark(remark: Remark): Remark {
  if ("exit" in remark) return { exit: { code: remark.exit.code, signal: remark.exit.signal } };
  if ("noSuchMessage" in remark) return { noSuchMessage: remark.noSuchMessage };
  if ("processesLeft" in remark) return { processesLeft: remark.processesLeft.map(() => "<BIN> mcp-server") };
  return remark;
}

/** Tools are recorded by name in the reference's set, which is not ours. */
function reducedRequest(request: unknown): unknown {
  if (!isRecord(request)) return request;
  const { tools: _, ...asked } = request;
  return withoutProse(asked);
}

function withoutProse(value: unknown): unknown {
  if (typeof value === "string") return REFERENCE_TEXT.test(value) ? WORDING : value;
  if (Array.isArray(value)) return value.map(withoutProse);
  if (!isRecord(value)) return value;
  if (value["type"] === "deprecation_notice") return { ...value, summary: WORDING, details: WORDING };
  const kept = Object.entries(value).filter(([key]) => key !== "description");
  return Object.fromEntries(kept.map(([key, entry]) => [key, withoutProse(entry)]));
}
