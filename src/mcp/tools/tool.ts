// Long because a tool's definition, the check of its arguments and what both eras need of it belong together.
import type { Agent, Ask } from "../../agent/agent.js";
import { InvalidArguments } from "../../agent/errors.js";
import type { NamedSessions } from "../../agent/namedSessions.js";
import { alternatives, unexpected } from "../../lib/complaints.js";
import { AppError } from "../../lib/errors.js";
import { isFields } from "../../lib/fields.js";
import type { ThreadId, TurnId } from "../../lib/ids.js";
import { oneLine } from "../../lib/oneLine.js";
import { InvalidUuid, parseThreadId } from "../../lib/uuid.js";
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

/** An argument of a tool: its schema and, for the compiler only, the type that the handler gets. */
export interface Argument<T> {
  readonly schema: ArgumentSchema;
  readonly isOptional: boolean;
  readonly type?: () => T;
}

export type ToolArguments = Readonly<Record<string, Argument<unknown>>>;

/** The checked arguments as the handler gets them. */
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

/** For tools whose result is a turn's outcome. */
export const RESULT_TOKENS = arg.optional(arg.whole({ from: 0, to: 1_000_000 }, "Longest result in tokens (20000)."));

const YEAR_S = 31_536_000;

/** An argument of every tool that returns a turn's result. */
export const WAIT_ARGUMENT = optional(whole({ from: 0, to: YEAR_S }, "Seconds to wait; then the result says `running`."));

/**
 * Claude Code 2.1.325 hides tools behind a search and truncates long results; these fields prevent both (measured: three model requests
 * instead of five).
 */
export const SHOWN_AT_ONCE = { "anthropic/alwaysLoad": true, "anthropic/maxResultSizeChars": 500_000 } as const;

/** The schema of all arguments of a tool, as in `tools/list`. */
export interface InputSchema {
  readonly properties: Readonly<Record<string, ArgumentSchema>>;
  readonly required?: readonly string[];
  /** Absent where unknown arguments are ignored. */
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
  /** The name that Codex's errors give the arguments. */
  readonly structName: string;
  /** The index of the struct's first required field. */
  readonly firstNeeded?: number;
  /** The error for a call without arguments. */
  readonly absent: string;
}

/** What arguments are checked against, and how errors are worded. Without Codex's wording, missing arguments count as an empty object. */
export type ExpectedArguments = Pick<McpTool, "inputSchema" | "name" | "wording" | "ignoresUnknown">;

/**
 * Checks a call's arguments. Errors of Codex's tools begin with Codex's wording (in `codex-original` they are exactly Codex's), so that
 * clients that match on them keep working. Codex reads arguments in the order sent, stops at the first invalid one, reports missing ones
 * last, and treats a null optional one as absent. Where unknown arguments are refused, every null counts as absent, and so does an empty
 * text for an optional argument: models and forms fill in what they leave out.
 */
export function parseArguments(args: unknown, expected: ExpectedArguments): Readonly<Record<string, unknown>> {
  const { inputSchema, wording, ignoresUnknown = false } = expected;
  const { properties: known, required = [] } = inputSchema;
  if (wording && (args ?? undefined) === undefined) throw new InvalidArguments(wording.absent);
  const value = args ?? {};
  if (!isFields(value)) throw unparsable(noMap(value, expected), expected);
  const isPassedOver = (name: string) => !Object.hasOwn(known, name) && (ignoresUnknown || isInjected(name));
  const isLeftEmpty = (name: string) => !ignoresUnknown && Object.hasOwn(known, name) && !required.includes(name);
  const isAbsent = (name: string, entry: unknown) =>
    (entry === null && !(ignoresUnknown && required.includes(name))) || (entry === "" && isLeftEmpty(name));
  const given: [string, unknown][] = [];
  // Not `Object.entries`: it would build a list of a million arguments before the first wrong one ends the check.
  for (const name of Object.keys(value)) {
    if (isPassedOver(name) || isAbsent(name, value[name])) continue;
    const entry = isRecorded(expected) && known[name]?.enum ? wordIn(value[name]) : value[name];
    given.push([name, entry]);
    if (!Object.hasOwn(known, name)) throw unparsable(unknownField(name, expected), expected);
    const problem = problemWith(entry, known[name], { asRecorded: isRecorded(expected) });
    if (problem !== undefined) throw unparsable(problem, expected, name);
  }
  const missing = required.find((name) => !given.some(([sent]) => sent === name));
  if (missing !== undefined) throw missingField(missing, expected);
  return Object.fromEntries(given);
}

/** In serde's wording, which later Codex versions used for it. */
function unknownField(name: string, { inputSchema }: ExpectedArguments): string {
  const known = Object.keys(inputSchema.properties);
  const complaint = `unknown field \`${oneLine(name, LONGEST_VALUE)}\`, ${known.length === 0 ? "there are no fields" : `expected ${alternatives(known)}`}`;
  const advice = adviceOnArgument(name, inputSchema.properties);
  return advice === undefined ? complaint : `${complaint}. ${advice}`;
}

/**
 * Codex named no argument and repeated the whole value, however long. Today's tools name the argument and shorten the value to one line.
 */
function isRecorded({ wording, ignoresUnknown }: ExpectedArguments): boolean {
  return wording !== undefined && ignoresUnknown === true;
}

const LONGEST_VALUE = 80;

function received(value: unknown): string {
  return oneLine(unexpected(value), LONGEST_VALUE);
}

function noMap(value: unknown, expected: ExpectedArguments): string {
  const { inputSchema, wording } = expected;
  if (!wording || !isRecorded(expected)) return `invalid type: ${received(value)}, expected a map of arguments`;
  return Array.isArray(value)
    ? `invalid length ${Math.max(value.length, wording.firstNeeded ?? 0)}, expected struct ${wording.structName} with ${Object.keys(inputSchema.properties).length} elements`
    : `invalid type: ${unexpected(value)}, expected struct ${wording.structName}`;
}

function problemWith(
  entry: unknown,
  schema: ArgumentSchema | undefined,
  { asRecorded }: { readonly asRecorded: boolean },
): string | undefined {
  const { fits, expected } = KINDS[schema?.type ?? "string"];
  if (!fits(entry)) {
    if (asRecorded && schema?.enum && isFields(entry)) return notAVariant(entry, schema.enum);
    if (asRecorded) return `invalid type: ${unexpected(entry)}, expected ${schema?.enum ? "string or map" : expected}`;
    return `invalid type: ${received(entry)}, expected ${schema?.enum ? alternatives(schema.enum) : expected}`;
  }
  if (schema?.enum && !schema.enum.some((value) => value === entry))
    return `unknown variant \`${asRecorded ? String(entry) : oneLine(String(entry), LONGEST_VALUE)}\`, expected ${alternatives(schema.enum)}`;
  const { minimum = -Infinity, maximum = Infinity } = schema ?? {};
  if (typeof entry === "number" && (entry < minimum || entry > maximum))
    return `invalid value: ${unexpected(entry)}, expected a whole number from ${minimum} to ${maximum}`;
  return undefined;
}

/** serde also reads a choice from an object whose only key names it: `{ "never": null }`. */
function wordIn(entry: unknown): unknown {
  if (!isFields(entry)) return entry;
  const [[word, content] = [], ...more] = Object.entries(entry);
  return content === null && more.length === 0 ? word : entry;
}

/** serde's error for an object where it expects a choice: the single key names the variant, which has no content. */
function notAVariant(entry: Readonly<Record<string, unknown>>, values: readonly unknown[]): string {
  const [variant, ...more] = Object.keys(entry);
  if (variant === undefined || more.length > 0) return "invalid value: map, expected map with a single key";
  if (!values.includes(variant)) return `unknown variant \`${variant}\`, expected ${alternatives(values.map(String))}`;
  return `invalid type: ${unexpected(entry[variant])}, expected unit`;
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

function missingField(name: string, expected: ExpectedArguments): InvalidArguments {
  const words = expected.inputSchema.properties[name]?.enum;
  const known = words && !isRecorded(expected) ? `, expected ${alternatives(words)}` : "";
  const error = unparsable(`missing field \`${name}\`${known}`, expected);
  return name === "threadId" && !isRecorded(expected) ? new ThreadNotNamed(error.message) : error;
}

function unparsable(why: string, expected: ExpectedArguments, argument?: string): InvalidArguments {
  const named = argument === undefined || isRecorded(expected) ? why : `\`${argument}\`: ${why}`;
  return new InvalidArguments(`${expected.wording ? "Failed to parse configuration for Codex tool" : expected.name}: ${named}`);
}

/** The sets that `--tools` can name; sets.ts defines them. */
export type ToolSetName = "codex" | "codex-cli" | "codex-original" | "extras" | "openoxide";

/** A tool as in `tools/list`. */
export interface ToolDeclaration {
  readonly _meta?: Readonly<Record<string, unknown>>;
  readonly annotations?: ToolAnnotations;
  readonly description: string;
  readonly inputSchema: unknown;
  readonly name: string;
  readonly outputSchema?: unknown;
  /** Absent if it is among the annotations, as in the set `codex-cli`. */
  readonly title?: string;
}

/** Hints for a client that decides whether a model may call a tool. */
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

/** The structured result of a turn in Codex 0.92.0. */
export const THREAD_OUTPUT: OutputSchema = {
  properties: { threadId: { type: "string" }, content: { type: "string" } },
  required: ["threadId", "content"],
  type: "object",
};

/** The structured result of a turn. A call that failed before its turn started has only the first three fields. */
export const TURN_OUTPUT: OutputSchema = {
  properties: {
    ...THREAD_OUTPUT.properties,
    ...TURN_FIELDS,
  },
  required: ["threadId", "content", "status"],
  type: "object",
};

/** The result of the call is the outcome of a turn. Each era of MCP follows the turn in its own way. */
export interface TurnAnswer {
  readonly turn: Turn;
  /** The text if the turn completes without a message. */
  readonly ifSilent?: string | undefined;
  /** How many seconds the call waits for the turn to end. */
  readonly wait?: number | undefined;
  /** Maximum tokens of the result, if the call sets it. */
  readonly resultTokens?: number;
  /** A remark about the call itself, for its result. */
  readonly remark?: string;
  /** The text of the first progress notification. Default: the turn's first step. */
  readonly startText?: string;
  /** How the tool reports the end of the turn. Default: the result that most tools share. */
  readonly present?: PresentTurn;
}

/** The text of a result whose turn never ends with a message. */
export function textIfSilent({ input }: Turn): string | undefined {
  return input.work?.kind === "compact" ? "The thread was summarised: a summary has replaced its history." : undefined;
}

export function resultTokens(tokens: number | undefined): Pick<TurnAnswer, "resultTokens"> {
  return tokens === undefined ? {} : { resultTokens: tokens };
}

export interface McpToolContext {
  readonly agent: Agent;
  /** The caller, to be passed to the agent. */
  readonly ask: Ask;
  /** The id of the first turn of a thread that the call opens. */
  readonly turnId: TurnId;
  /** The client's roots, if it reports them; not validated. */
  readonly clientRoots: () => Promise<readonly string[]>;
  /** Maximum tokens of a result, for calls that do not set it. */
  readonly resultTokens: number;
  /** Named sessions. */
  readonly sessions: NamedSessions;
  /** The environment of the server. */
  readonly env: Readonly<NodeJS.ProcessEnv>;
  /** The help text of the installed Codex; undefined if there is none. */
  readonly codexHelp: () => Promise<string | undefined>;
}

/** A tool in one value. The tool list, the schemas, the recorded schemas in the tests and docs/tools.md are generated from it. */
interface ToolDefinition<A extends ToolArguments> {
  readonly name: string;
  readonly title: string;
  /** Every client pays for each word in tokens. */
  readonly description: string;
  readonly input: A;
  readonly output?: OutputSchema;
  readonly annotations?: ToolAnnotations;
  /** `_meta` of its declaration: hints that single clients read. */
  readonly meta?: Readonly<Record<string, unknown>>;
  /** The sets that contain it. */
  readonly sets: readonly ToolSetName[];
  /** Its position in the list: lower numbers first, then by name. */
  readonly order: number;
  /** Also available to callers inside a turn. Such a tool starts nothing, changes nothing and reveals no caller's data. */
  readonly servedInside?: true;
  /** Argument errors use Codex's wording; otherwise they name the tool and the argument. */
  readonly wording?: CodexWording;
  /** Unknown arguments are ignored, as in the server that the tool replaces. Otherwise they are refused. */
  readonly ignoresUnknown?: true;
  /** The schema contains an empty `required`, as in the server that the tool replaces. */
  readonly listsNothingRequired?: true;
  /** Replaces `parseArguments`. Throws `InvalidArguments`. */
  readonly parse?: typeof parseArguments;
  /** How it reports an expected failure. Default: the error's message. */
  readonly refusal?: (error: AppError) => DraftResult;
  /** What the tool returns, in one line for docs/tools.md. */
  readonly answers: string;
  /** Valid arguments, for the documentation and the fuzzer. */
  readonly example: Readonly<Record<string, unknown>>;
  /** Throws `AppError` for an expected failure; the caller gets it as an `isError` result. */
  readonly call: (args: ValuesOf<A>, context: McpToolContext) => Promise<DraftResult | TurnAnswer>;
}

export interface McpTool extends Omit<ToolDefinition<ToolArguments>, "call" | "input"> {
  readonly inputSchema: InputSchema;
  /** Takes the result of `parseArguments`. */
  call(args: Readonly<Record<string, unknown>>, context: McpToolContext): Promise<DraftResult | TurnAnswer>;
}

export function defineTool<const A extends ToolArguments>({ input, ...tool }: ToolDefinition<A>): McpTool {
  return { ...tool, inputSchema: schemaOf(input, tool) };
}

/** The tool as clients see it, with keys in the order in which Codex writes them. */
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

/** A failure on a named thread is reported with the thread id, so that a program can continue there. */
export async function onThread(threadId: ThreadId, begin: () => Promise<DraftResult | TurnAnswer>): Promise<DraftResult | TurnAnswer> {
  try {
    return await begin();
  } catch (error) {
    if (error instanceof AppError) return failureOn(threadId, error);
    throw error;
  }
}

/** The thread that an argument names. Throws `InvalidArguments`; the message begins like Codex's error and says where to find ids. */
export function parseNamedThread(named: string): ThreadId {
  try {
    return parseThreadId(named);
  } catch (error) {
    if (error instanceof InvalidUuid) throw new ThreadNotNamed(`Failed to parse thread_id: ${error.message}`, { cause: error });
    throw error;
  }
}

/** A turn without words costs as much as any other. Codex 0.92.0 began one. */
export function checkPrompt(prompt: string): void {
  if (prompt.trim() === "") throw new InvalidArguments("`prompt` is empty: say what the agent should do.");
}

export class ThreadNotNamed extends InvalidArguments {
  override get advice(): string {
    return "The threadId is in the result of the call that began the thread; `codex-threads` lists the threads that you can continue.";
  }
}
