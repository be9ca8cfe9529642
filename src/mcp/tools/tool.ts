// Long because what a tool is, how its arguments are checked and what both eras take from it belong together.
import type { Agent, Ask } from "../../agent/agent.js";
import { InvalidArguments } from "../../agent/errors.js";
import type { NamedSessions } from "../../agent/namedSessions.js";
import { alternatives, unexpected } from "../../lib/complaints.js";
import { AppError } from "../../lib/errors.js";
import { isFields } from "../../lib/fields.js";
import type { ThreadId, TurnId } from "../../lib/ids.js";
import type { Turn } from "../../threads/turn.js";
import { type DraftResult, failureOn, type PresentTurn } from "../wording/callResult.js";
import { adviceOnArgument } from "./argumentsElsewhere.js";
import { isInjected } from "./injectedArguments.js";
import { TURN_FIELDS } from "./turnFields.js";

/** The JSON Schema of one argument. */
export interface ArgumentSchema {
  readonly type: "string" | "integer" | "boolean" | "array" | "object";
  readonly enum?: readonly string[];
  readonly items?: { readonly type: "string" };
  readonly minimum?: number;
  readonly maximum?: number;
  readonly additionalProperties?: true;
  readonly description: string;
}

/** An argument of a tool: how it is advertised and checked, and, for the compiler only, what a handler gets. */
export interface Argument<T> {
  readonly schema: ArgumentSchema;
  readonly isOptional: boolean;
  readonly type?: () => T;
}

export type ToolArguments = Readonly<Record<string, Argument<unknown>>>;

/** What a handler gets of arguments that were checked. */
export type ValuesOf<A extends ToolArguments> = { readonly [K in keyof A]: A[K] extends Argument<infer T> ? T : never };

function text(description: string): Argument<string> {
  return needed({ type: "string", description });
}

function choice<const V extends string>(values: readonly V[], description: string): Argument<V> {
  return needed({ type: "string", enum: values, description });
}

function whole({ from, to }: { readonly from: number; readonly to: number }, description: string): Argument<number> {
  return needed({ type: "integer", minimum: from, maximum: to, description });
}

function flag(description: string): Argument<boolean> {
  return needed({ type: "boolean", description });
}

function texts(description: string): Argument<readonly string[]> {
  return needed({ type: "array", items: { type: "string" }, description });
}

function table(description: string): Argument<Readonly<Record<string, unknown>>> {
  return needed({ type: "object", additionalProperties: true, description });
}

function optional<T>({ schema }: Argument<T>): Argument<T | undefined> {
  return { schema, isOptional: true };
}

function needed<T>(schema: ArgumentSchema): Argument<T> {
  return { schema, isOptional: false };
}

/** The kinds of arguments that a tool can have. */
export const arg = { text, choice, whole, flag, texts, table, optional };

/** For tools whose answer is what becomes of a turn. */
export const RESULT_TOKENS = arg.optional(arg.whole({ from: 0, to: 1_000_000 }, "Longest result in tokens (20000)."));

const YEAR_S = 31_536_000;

/** Of every tool whose answer is a turn's. */
export const WAIT_ARGUMENT = optional(
  whole({ from: 0, to: YEAR_S }, "Seconds to wait; then the turn goes on and the result says `running`."),
);

/** Claude Code 2.1.325 hides tools behind a search and cuts long results; it reads these (tried: three model requests in place of five). */
export const SHOWN_AT_ONCE = { "anthropic/alwaysLoad": true, "anthropic/maxResultSizeChars": 500_000 } as const;

/** The schema of all arguments of a tool, as `tools/list` shows it. */
export interface InputSchema {
  readonly properties: Readonly<Record<string, ArgumentSchema>>;
  readonly required?: readonly string[];
  /** Absent where arguments that nobody knows are passed over. */
  readonly additionalProperties?: false;
  readonly type: "object";
}

interface SchemaOptions {
  readonly ignoresUnknown?: boolean;
  readonly listsNothingRequired?: boolean;
}

export function schemaOf(args: ToolArguments, { ignoresUnknown = false, listsNothingRequired = false }: SchemaOptions = {}): InputSchema {
  const entries = Object.entries(args);
  const required = entries.filter(([, { isOptional }]) => !isOptional).map(([name]) => name);
  return {
    properties: Object.fromEntries(entries.map(([name, { schema }]) => [name, schema])),
    ...((required.length > 0 || listsNothingRequired) && { required }),
    ...(!ignoresUnknown && { additionalProperties: false }),
    type: "object",
  };
}

export interface CodexWording {
  /** The name that Codex's complaints give the arguments. */
  readonly structName: string;
  /** The complaint about a call without arguments. */
  readonly absent: string;
}

/** What arguments are checked against, and how complaints are worded. Without Codex's wording, no arguments are like an empty map. */
export type ExpectedArguments = Pick<McpTool, "inputSchema" | "name" | "wording" | "ignoresUnknown">;

/**
 * Checks a call's arguments. Complaints about Codex's tools are worded as Codex words them, so that clients that match on them go on
 * working: it reads arguments in the order they were sent, stops at the first bad one, misses absent ones last, and takes an
 * optional one that is null for absent. Where unknown arguments are not ignored, every null stands for an absent one.
 */
export function parseArguments(args: unknown, expected: ExpectedArguments): Readonly<Record<string, unknown>> {
  const { inputSchema, wording, ignoresUnknown = false } = expected;
  const { properties: known, required = [] } = inputSchema;
  if (wording && (args ?? undefined) === undefined) throw new InvalidArguments(wording.absent);
  const value = args ?? {};
  if (!isFields(value)) throw unparsable(noMap(value, expected), expected);
  const isPassedOver = (name: string) => !Object.hasOwn(known, name) && (ignoresUnknown || isInjected(name));
  const isAbsent = (name: string, entry: unknown) => entry === null && !(ignoresUnknown && required.includes(name));
  const given = Object.entries(value).filter(([name, entry]) => !isPassedOver(name) && !isAbsent(name, entry));
  for (const [name, entry] of given) {
    if (!Object.hasOwn(known, name)) throw unparsable(unknownField(name, expected), expected);
    const problem = problemWith(entry, known[name]);
    if (problem !== undefined) throw unparsable(problem, expected, name);
  }
  const missing = required.find((name) => !given.some(([sent]) => sent === name));
  if (missing !== undefined) throw unparsable(`missing field \`${missing}\``, expected);
  return Object.fromEntries(given);
}

/** In serde's words, which later Codex versions had for it. */
function unknownField(name: string, { inputSchema }: ExpectedArguments): string {
  const known = Object.keys(inputSchema.properties);
  const complaint = `unknown field \`${name}\`, ${known.length === 0 ? "there are no fields" : `expected ${alternatives(known)}`}`;
  const advice = adviceOnArgument(name, inputSchema.properties);
  return advice === undefined ? complaint : `${complaint}. ${advice}`;
}

function noMap(value: unknown, { inputSchema, wording }: ExpectedArguments): string {
  if (!wording) return `invalid type: ${unexpected(value)}, expected a map`;
  return Array.isArray(value)
    ? `invalid length ${value.length}, expected struct ${wording.structName} with ${Object.keys(inputSchema.properties).length} elements`
    : `invalid type: ${unexpected(value)}, expected struct ${wording.structName}`;
}

function problemWith(entry: unknown, schema: ArgumentSchema | undefined): string | undefined {
  const { fits, expected } = KINDS[schema?.type ?? "string"];
  if (!fits(entry)) return `invalid type: ${unexpected(entry)}, expected ${schema?.enum ? "string or map" : expected}`;
  if (schema?.enum && !schema.enum.some((value) => value === entry))
    return `unknown variant \`${String(entry)}\`, expected ${alternatives(schema.enum)}`;
  const { minimum = -Infinity, maximum = Infinity } = schema ?? {};
  if (typeof entry === "number" && (entry < minimum || entry > maximum))
    return `invalid value: ${unexpected(entry)}, expected a whole number from ${minimum} to ${maximum}`;
  return undefined;
}

interface Kind {
  readonly fits: (entry: unknown) => boolean;
  readonly expected: string;
}

const KINDS: Readonly<Record<ArgumentSchema["type"], Kind>> = {
  string: { fits: (entry) => typeof entry === "string", expected: "a string" },
  object: { fits: isFields, expected: "a map" },
  array: { fits: (entry) => Array.isArray(entry) && entry.every((part) => typeof part === "string"), expected: "a sequence of strings" },
  integer: { fits: Number.isSafeInteger, expected: "a whole number" },
  boolean: { fits: (entry) => typeof entry === "boolean", expected: "a boolean" },
};

function unparsable(why: string, { name, wording }: ExpectedArguments, argument?: string): InvalidArguments {
  if (wording) return new InvalidArguments(`Failed to parse configuration for Codex tool: ${why}`);
  return new InvalidArguments(`${name}: ${argument === undefined ? "" : `\`${argument}\`: `}${why}`);
}

/** The sets that `--tools` can name; what they are is in sets.ts. */
export type ToolSetName = "codex" | "codex-cli" | "codex-original" | "extras" | "openoxide";

/** A tool as `tools/list` shows it. */
export interface ToolDeclaration {
  readonly _meta?: Readonly<Record<string, unknown>>;
  readonly annotations?: ToolAnnotations;
  readonly description: string;
  readonly inputSchema: unknown;
  readonly name: string;
  readonly outputSchema?: unknown;
  /** Absent where it stands among the annotations, as in the set `codex-cli`. */
  readonly title?: string;
}

/** What a client may want to know before it lets a model call a tool. */
export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

export interface OutputSchema {
  readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly required?: readonly string[];
  readonly type: "object";
}

/** What a turn's answer looked like to programs with Codex 0.92.0. */
export const THREAD_OUTPUT: OutputSchema = {
  properties: { threadId: { type: "string" }, content: { type: "string" } },
  required: ["threadId", "content"],
  type: "object",
};

/** What a turn's answer looks like to programs. A call that failed before its turn began has the first three alone. */
export const TURN_OUTPUT: OutputSchema = {
  properties: {
    ...THREAD_OUTPUT.properties,
    ...TURN_FIELDS,
  },
  required: ["threadId", "content", "status"],
  type: "object",
};

/** The answer to a call is what becomes of a turn. Each era of MCP follows the turn in its own way. */
export interface TurnAnswer {
  readonly turn: Turn;
  /** The answer, when the turn completes without a word. */
  readonly ifSilent?: string | undefined;
  /** How many seconds the call is to wait for the turn's end. */
  readonly wait?: number | undefined;
  /** The most tokens of the result, where the call says. */
  readonly resultTokens?: number;
  /** What the first progress says. Absent: what the turn does first. */
  readonly startText?: string;
  /** What the tool makes of the turn's end. Absent: what most tools make of it. */
  readonly present?: PresentTurn;
}

/** What a call said of it, if it did. */
export function resultTokens(tokens: number | undefined): Pick<TurnAnswer, "resultTokens"> {
  return tokens === undefined ? {} : { resultTokens: tokens };
}

export interface McpToolContext {
  readonly agent: Agent;
  /** Who calls, to be passed to the agent. */
  readonly ask: Ask;
  /** What the first turn of a thread is called that the call opens. */
  readonly turnId: TurnId;
  /** The folders that the client works in, as far as it tells; none of them was checked. */
  readonly clientRoots: () => Promise<readonly string[]>;
  /** The most tokens of a result, for calls that do not say. */
  readonly resultTokens: number;
  /** Conversations by names that callers choose. */
  readonly sessions: NamedSessions;
  /** The environment of the server. */
  readonly env: Readonly<NodeJS.ProcessEnv>;
  /** What the Codex of this machine says of itself; undefined where there is none. */
  readonly codexHelp: () => Promise<string | undefined>;
}

/** A tool in one value. Its file is all there is to it: the list, the schemas, the pins and docs/tools.md are generated from it. */
interface ToolDefinition<A extends ToolArguments> {
  readonly name: string;
  readonly title: string;
  /** Every word is paid for by every client. */
  readonly description: string;
  readonly input: A;
  readonly output?: OutputSchema;
  readonly annotations?: ToolAnnotations;
  /** `_meta` of its declaration: hints that single clients read. */
  readonly meta?: Readonly<Record<string, unknown>>;
  /** The sets that it is in. */
  readonly sets: readonly ToolSetName[];
  /** Where it stands in the list: lower numbers first, then by name. */
  readonly order: number;
  /** For calls from inside a turn too. Such a tool starts nothing, changes nothing and tells nothing that is somebody's. */
  readonly servedInside?: true;
  /** Complaints are worded as Codex words them; otherwise they name the tool and the argument. */
  readonly wording?: CodexWording;
  /** Arguments that it does not know are passed over, as the server did that it stands for. Otherwise they are refused. */
  readonly ignoresUnknown?: true;
  /** Its schema says that nothing is required where nothing is, as that server's did. */
  readonly listsNothingRequired?: true;
  /** In place of `parseArguments`. Throws `InvalidArguments`. */
  readonly parse?: typeof parseArguments;
  /** How it words what was foreseen to go wrong. Absent: the error's own words. */
  readonly refusal?: (error: AppError) => DraftResult;
  /** What comes back, in a line of docs/tools.md. */
  readonly answers: string;
  /** Arguments that a call could have, for the documentation and the fuzzer. */
  readonly example: Readonly<Record<string, unknown>>;
  /** What goes wrong in a way that was foreseen is an `AppError`; the caller gets it as an `isError` result. */
  readonly call: (args: ValuesOf<A>, context: McpToolContext) => Promise<DraftResult | TurnAnswer>;
}

export interface McpTool extends Omit<ToolDefinition<ToolArguments>, "call" | "input"> {
  readonly inputSchema: InputSchema;
  /** Takes what `parseArguments` makes of a call's arguments. */
  call(args: Readonly<Record<string, unknown>>, context: McpToolContext): Promise<DraftResult | TurnAnswer>;
}

export function defineTool<const A extends ToolArguments>({ input, ...tool }: ToolDefinition<A>): McpTool {
  return { ...tool, inputSchema: schemaOf(input, tool) };
}

/** The tool as clients see it; keys in the order in which Codex writes them. */
export function declarationOf({ annotations, description, inputSchema, meta, name, output, title }: McpTool): ToolDeclaration {
  return {
    ...(meta && { _meta: meta }),
    ...(annotations && { annotations }),
    description,
    inputSchema,
    name,
    ...(output && { outputSchema: output }),
    ...(annotations?.title === undefined && { title }),
  };
}

/** What goes wrong on a thread that the caller named is told with the thread's id, so that a program can go on there. */
export async function onThread(threadId: ThreadId, begin: () => Promise<DraftResult | TurnAnswer>): Promise<DraftResult | TurnAnswer> {
  try {
    return await begin();
  } catch (error) {
    if (error instanceof AppError) return failureOn(threadId, error);
    throw error;
  }
}
