import path from "node:path";
import { assertNever } from "../lib/assertNever.js";
import { alternatives, isWholeNumber, unexpected } from "../lib/complaints.js";
import { ConfigInvalid } from "./errors.js";
import { CONFIG_SCHEMA } from "./schema/schema.js";
import type { ConfigTree, ConfigType, IntegerWidth, TableType } from "./schema/settingTypes.js";
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
  checkTable(tree, CONFIG_SCHEMA, { path: [], partial, asRecorded, unknownKeys });
  return { unknownKeys };
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
    // Codex parses the features as a whole, so its error is about the whole table.
    if (setting) checkValue(value, setting.type, isFeatures(spot) ? spot : below(spot, key));
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
    case "anything":
      break;
    case "text":
      if (typeof value === "string") break;
      throw isRecordedChoice(spot) && !isTree(value) ? noVariant(spot) : wrongType(value, "a string", spot);
    case "path":
      if (typeof value !== "string") throw wrongType(value, spot.asRecorded ? "path string" : "a string", spot);
      if (takesNoRelativePath(spot) && !path.isAbsolute(value)) throw invalidAt(spot, "AbsolutePathBuf deserialized without a base path");
      break;
    case "flag":
      if (typeof value !== "boolean") throw wrongType(value, "a boolean", spot);
      break;
    case "choice":
      checkChoice(value, type.values, spot);
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
      for (const entry of value) checkValue(entry, type.of, spot);
      break;
    case "map":
      if (!isTree(value)) throw wrongType(value, mapName(spot), spot);
      for (const [key, entry] of Object.entries(value)) checkValue(entry, type.of, below(spot, key));
      break;
    case "table":
      if (!isTree(value)) throw wrongType(value, mapName(spot), spot);
      checkTable(value, type, spot);
      break;
    default:
      assertNever(type);
  }
}

/** The names of Codex's types in its error messages, by the path of the table. */
const RECORDED_STRUCTS: Readonly<Record<string, string>> = {
  features: "FeaturesToml",
  history: "History",
  "mcp_servers.*": "RawMcpServerConfig",
  "model_providers.*": "ModelProviderInfo",
  "profiles.*": "ConfigProfile",
  "projects.*": "ProjectConfig",
  sandbox_workspace_write: "SandboxWorkspaceWrite",
  shell_environment_policy: "ShellEnvironmentPolicyToml",
  tools: "ToolsToml",
};

function mapName({ path: [table = "", ...deeper], asRecorded }: Spot): string {
  const struct = asRecorded ? RECORDED_STRUCTS[[table, ...deeper.map(() => "*")].join(".")] : undefined;
  return struct === undefined ? "a map" : `struct ${struct}`;
}

/** The folder of an MCP server is the only path that Codex does not parse as an absolute one. */
function takesNoRelativePath({ path: [table], asRecorded }: Spot): boolean {
  return asRecorded && table !== "mcp_servers";
}

function isFeatures({ path: place, asRecorded }: Spot): boolean {
  return asRecorded && place.length === 1 && place[0] === "features";
}

function checkChoice(value: unknown, values: readonly string[], spot: Spot): void {
  if (typeof value !== "string") throw spot.asRecorded ? notAVariant(value, values, spot) : wrongType(value, "a string", spot);
  if (!values.includes(value)) throw invalidAt(spot, `unknown variant \`${value}\`, expected ${alternatives(values)}`);
}

/** The TOML parser's error for a choice that is not a string. A table with one key counts as the variant of that name with content. */
function notAVariant(value: unknown, values: readonly string[], spot: Spot): ConfigInvalid {
  if (!isTree(value)) return noVariant(spot);
  const [variant, ...more] = Object.keys(value);
  if (variant === undefined || more.length > 0)
    return invalidAt(spot, `wanted exactly 1 element, found ${Object.keys(value).length} elements`);
  if (!values.includes(variant)) return invalidAt(spot, `unknown variant \`${variant}\`, expected ${alternatives(values)}`);
  return invalidAt(spot, `expected table, found ${unexpected(value[variant]).split(" ")[0]}`);
}

function noVariant(spot: Spot): ConfigInvalid {
  return invalidAt(spot, "invalid type: unit variant, expected string only");
}

/** Any text here, one of six words in Codex 0.92.0. */
function isRecordedChoice({ path: place, asRecorded }: Spot): boolean {
  return asRecorded && place.join(".") === "model_reasoning_effort";
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
