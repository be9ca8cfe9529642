import path from "node:path";
import { assertNever } from "../lib/assertNever.js";
import { alternatives, isWholeNumber, unexpected } from "../lib/complaints.js";
import { ConfigInvalid } from "./errors.js";
import { RECORDED_SCHEMA } from "./schema/recorded.js";
import { CONFIG_SCHEMA } from "./schema/schema.js";
import type { Choice, ConfigTree, ConfigType, IntegerWidth, TableType } from "./schema/settingTypes.js";
import { isTree } from "./tree.js";

/**
 * Checks settings against the schema and returns the unknown keys. Throws `ConfigInvalid` in Codex's wording. A partial tree is one of
 * several layers: missing keys may come from another one. `asRecorded` checks the `config` of a call as Codex 0.92.0 did, which named its
 * own types in errors and accepted no relative paths.
 */
export function checkConfig(
  tree: ConfigTree,
  { partial = false, asRecorded = false }: { partial?: boolean; asRecorded?: boolean } = {},
): { unknownKeys: string[] } {
  const unknownKeys: string[] = [];
  if (asRecorded) checkRootMarkers(tree);
  checkTable(tree, asRecorded ? RECORDED_SCHEMA : CONFIG_SCHEMA, { path: [], partial, asRecorded, unknownKeys });
  return { unknownKeys };
}

/** A known key whose name an unknown one shortens, as `reasoning_effort` does. */
export function likelyKey(unknown: string): string | undefined {
  return Object.keys(CONFIG_SCHEMA.fields).find((key) => key.endsWith(`_${unknown}`) || key.startsWith(`${unknown}_`));
}

/** The position in the tree, and the findings so far. */
interface Spot {
  readonly path: readonly string[];
  readonly partial: boolean;
  readonly asRecorded: boolean;
  readonly unknownKeys: string[];
}

function checkTable(tree: ConfigTree, type: TableType, spot: Spot): void {
  for (const [key, value] of Object.entries(tree)) {
    const setting = Object.hasOwn(type.fields, key) ? type.fields[key] : undefined;
    const known = setting?.type ?? type.others;
    // Codex parses the features as a whole, so its error is about the whole table.
    if (known) checkValue(value, known, isFeatures(spot) ? spot : below(spot, key));
    else spot.unknownKeys.push(nameOf(below(spot, key)));
  }
  if (!spot.partial) checkWhole(tree, type, spot);
}

function checkWhole(tree: ConfigTree, type: TableType, spot: Spot): void {
  const missing = type.required.find((key) => !Object.hasOwn(tree, key));
  if (missing !== undefined) throw invalidAt(spot, `missing field \`${missing}\``);
  const problem = type.rule?.(tree);
  if (problem !== undefined) throw invalidAt(spot, problem);
}

function checkValue(value: unknown, type: ConfigType, spot: Spot): void {
  switch (type.kind) {
    case "anything": {
      const problem = type.rule?.(value);
      if (problem !== undefined) throw invalidAt(spot, problem);
      break;
    }
    case "text":
      if (typeof value !== "string") throw wrongType(value, "a string", spot);
      break;
    case "path":
      if (typeof value !== "string") throw wrongType(value, spot.asRecorded ? "path string" : "a string", spot);
      if (takesNoRelativePath(spot) && !path.isAbsolute(value)) throw invalidAt(spot, "AbsolutePathBuf deserialized without a base path");
      break;
    case "flag":
      if (typeof value !== "boolean") throw wrongType(value, "a boolean", spot);
      break;
    case "choice":
      checkChoice(value, type, spot);
      break;
    case "integer":
      checkInteger(value, type, spot);
      break;
    case "float":
      if (typeof value !== "number" && typeof value !== "bigint") throw wrongType(value, "f64", spot);
      checkAtLeast(value, type.atLeast, spot);
      break;
    case "list":
      if (!Array.isArray(value)) throw wrongType(value, "a sequence", spot);
      // A list replaces that of another layer, so its entries must be complete even if the tree is not.
      for (const entry of value) checkValue(entry, type.of, { ...spot, partial: false });
      break;
    case "map":
      if (!isTree(value)) throw wrongType(value, mapName(spot), spot);
      for (const [key, entry] of Object.entries(value)) checkValue(entry, type.of, below(spot, key));
      break;
    case "table":
      if (Array.isArray(value) && value.length === 0 && spot.asRecorded) checkEmptySequence(spot);
      else if (!isTree(value)) throw wrongType(value, mapName(spot), spot);
      else checkTable(value, type, spot);
      break;
    default:
      assertNever(type);
  }
}

interface RecordedStruct {
  readonly name: string;
  /** How many fields its parser requires in a sequence; 0 if each has a default. Absent if the parser accepts no sequence. */
  readonly fields?: number;
}

/** What Codex's error messages say about the type of a table, by the path of the table. */
const RECORDED_STRUCTS: Readonly<Record<string, RecordedStruct>> = {
  agents: { name: "AgentsToml", fields: 1 },
  analytics: { name: "AnalyticsConfigToml", fields: 1 },
  features: { name: "FeaturesToml" },
  feedback: { name: "FeedbackConfigToml", fields: 1 },
  ghost_snapshot: { name: "GhostSnapshotToml", fields: 3 },
  history: { name: "History", fields: 2 },
  "mcp_servers.*": { name: "RawMcpServerConfig", fields: 17 },
  "model_providers.*": { name: "ModelProviderInfo", fields: 13 },
  notice: { name: "Notice", fields: 6 },
  otel: { name: "OtelConfigToml", fields: 4 },
  "profiles.*": { name: "ConfigProfile", fields: 21 },
  "projects.*": { name: "ProjectConfig", fields: 1 },
  sandbox_workspace_write: { name: "SandboxWorkspaceWrite", fields: 0 },
  shell_environment_policy: { name: "ShellEnvironmentPolicyToml", fields: 6 },
  skills: { name: "SkillsConfig", fields: 0 },
  "skills.config": { name: "SkillConfig", fields: 2 },
  tools: { name: "ToolsToml", fields: 0 },
  tui: { name: "Tui", fields: 0 },
};

const MAPS = ["mcp_servers", "model_providers", "profiles", "projects"];

function recordedStruct({ path: place, asRecorded }: Spot): RecordedStruct | undefined {
  if (!asRecorded) return undefined;
  const [table = "", name, ...inside] = place;
  if (table === "profiles" && inside.length > 0) return RECORDED_STRUCTS[inside.join(".")];
  return RECORDED_STRUCTS[name !== undefined && MAPS.includes(table) ? [table, "*", ...inside].join(".") : place.join(".")];
}

function mapName(spot: Spot): string {
  const struct = recordedStruct(spot);
  return struct === undefined ? "a map" : `struct ${struct.name}`;
}

/** Codex's parser also reads a struct from the sequence of its fields. */
function checkEmptySequence(spot: Spot): void {
  const { name, fields } = recordedStruct(spot) ?? {};
  if (name === undefined || fields === undefined) throw wrongType([], mapName(spot), spot);
  const elements = fields === 1 ? "1 element" : `${fields} elements`;
  if (fields > 0) throw invalidAt(spot, `invalid length 0, expected struct ${name} with ${elements}`);
}

/** Codex checks `project_root_markers` before all other settings, with an error of its own. */
function checkRootMarkers({ project_root_markers: markers }: ConfigTree): void {
  if (markers === undefined || (Array.isArray(markers) && markers.every((marker) => typeof marker === "string"))) return;
  throw new ConfigInvalid("project_root_markers must be an array of strings", { place: ["project_root_markers"] });
}

/** The folder of an MCP server is the only path that Codex does not parse as an absolute one. */
function takesNoRelativePath({ path: [table], asRecorded }: Spot): boolean {
  return asRecorded && table !== "mcp_servers";
}

function isFeatures({ path: place, asRecorded }: Spot): boolean {
  return asRecorded && place.at(-1) === "features" && place.length === (place[0] === "profiles" ? 3 : 1);
}

function checkChoice(value: unknown, choice: Choice, spot: Spot): void {
  if (typeof value !== "string") return spot.asRecorded ? checkVariant(value, choice, spot) : fail(wrongType(value, "a string", spot));
  if (!isOffered(value, choice)) throw unknownVariant(value, choice, spot);
  if (spot.asRecorded && choice.withContent?.includes(value)) throw invalidAt(spot, "invalid type: unit variant, expected struct variant");
}

/** The TOML parser takes a table with one key as the variant of that name, with content. */
function checkVariant(value: unknown, choice: Choice, spot: Spot): void {
  if (!isTree(value)) throw invalidAt(spot, "invalid type: unit variant, expected string only");
  const [variant, ...more] = Object.keys(value);
  if (variant === undefined) throw invalidAt(spot, "wanted exactly 1 element, found 0 elements");
  if (more.length > 0) throw invalidAt(spot, "wanted exactly 1 element, more than 1 element");
  if (!isOffered(variant, choice)) throw unknownVariant(variant, choice, spot);
  if (choice.withContent?.includes(variant)) return;
  const content = value[variant];
  if (Array.isArray(content)) return content.length === 0 ? undefined : fail(invalidAt(spot, "expected empty array"));
  if (isTree(content)) return Object.keys(content).length === 0 ? undefined : fail(invalidAt(spot, "expected empty table"));
  throw invalidAt(spot, `expected table, found ${tomlTypeOf(content)}`);
}

function tomlTypeOf(value: unknown): string {
  const [first = ""] = unexpected(value).split(" ");
  return first === "floating" ? "float" : first;
}

function isOffered(word: string, { values, unlisted = [] }: Choice): boolean {
  return values.includes(word) || unlisted.includes(word);
}

function unknownVariant(word: string, { values }: Choice, spot: Spot): ConfigInvalid {
  return invalidAt(spot, `unknown variant \`${word}\`, expected ${alternatives(values)}`);
}

function fail(error: ConfigInvalid): never {
  throw error;
}

const RANGES: Readonly<Record<IntegerWidth, { readonly smallest: bigint; readonly largest: bigint }>> = {
  u16: { smallest: 0n, largest: 2n ** 16n - 1n },
  u64: { smallest: 0n, largest: 2n ** 64n - 1n },
  usize: { smallest: 0n, largest: 2n ** 64n - 1n },
  i64: { smallest: -(2n ** 63n), largest: 2n ** 63n - 1n },
};

function checkInteger(value: unknown, type: { width: IntegerWidth; atLeast?: number }, spot: Spot): void {
  if (!isInteger(value)) throw wrongType(value, type.width, spot);
  const { smallest, largest } = RANGES[type.width];
  if (value < smallest || value > largest) throw invalidAt(spot, `invalid value: ${unexpected(value)}, expected ${type.width}`);
  checkAtLeast(value, type.atLeast, spot);
}

// JSON does not distinguish 5 from 5.0, and the TOML parser returns both as the number 5: a whole number counts as an integer.
function isInteger(value: unknown): value is number | bigint {
  return typeof value === "bigint" || isWholeNumber(value);
}

function checkAtLeast(value: number | bigint, smallest: number | undefined, spot: Spot): void {
  if (smallest !== undefined && !(value >= smallest))
    throw new ConfigInvalid(`${nameOf(spot)} must be at least ${smallest}`, { place: spot.path });
}

// Values under these keys may be secrets, and error texts reach many readers.
const SECRET_KEYS = new Set(["http_headers", "query_params", "env", "set", "experimental_bearer_token"]);

function wrongType(value: unknown, expected: string, spot: Spot): ConfigInvalid {
  const secret = typeof value === "string" && spot.path.some((key) => SECRET_KEYS.has(key));
  return invalidAt(spot, `invalid type: ${unexpected(secret ? "****" : value)}, expected ${expected}`);
}

function invalidAt(spot: Spot, reason: string): ConfigInvalid {
  return new ConfigInvalid(`${reason}\nin \`${nameOf(spot)}\`\n`, { place: spot.path });
}

function below(spot: Spot, key: string): Spot {
  return { ...spot, path: [...spot.path, key] };
}

function nameOf(spot: Spot): string {
  return spot.path.join(".");
}
