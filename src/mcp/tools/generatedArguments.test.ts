import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv";
import { afterEach, beforeEach, expect, it } from "vitest";
import { bentObject, strangeText, strangeValue } from "../../../test/fuzz/invent.js";
import { MemoryAgent } from "../../../test/support/memory/memoryAgent.js";
import { MemorySession, threadOf } from "../../../test/support/memory/memorySession.js";
import { SeededRandom } from "../../../test/support/patch/random.js";
import { isRecord, valueAt } from "../../../test/support/scenarios/scenario.js";
import pins from "../../../test/support/toolPins.generated.json" with { type: "json" };
import { INJECTED_ARGUMENTS, isInjected } from "./injectedArguments.js";
import { toolsOf } from "./sets.js";
import type { ArgumentSchema, InputSchema, ToolDeclaration } from "./tool.js";

// Calls every tool with generated arguments, valid and invalid ones, on the real agent with the scripted model. Checks what a program relies on that
// knows only the published schemas.

type Json = Readonly<Record<string, unknown>>;

const SEED = 20_260;
const CALLS = 200;
const AT_ONCE = 8;
/** No call has much to do, so one that takes longer hangs. */
const DEADLINE_MS = 10_000;
const NOBODY = "0199a213-81c0-7800-8aa1-bbab2a035a53";
const QUESTIONS = 16;
const ASKING = { prompt: "!shell touch made.txt", "approval-policy": "untrusted", sandbox: "workspace-write" };
const GIT = [
  ["init", "--quiet", "--initial-branch=main"],
  ["-c", "user.name=a", "-c", "user.email=a@b.invalid", "commit", "--quiet", "--allow-empty", "--message=first"],
];
const HUGE = "lorem ipsum ".repeat(8_000);
/** Text that shows an unexpected error. */
const SURPRISE = /internal error|\b(Type|Reference|Range|Syntax)Error\b|\[object \w+\]|undefined|NaN/;
/** Errors for arguments that do not match the input schema. */
const MISFIT = /invalid (type|value)|unknown (field|variant)|missing field|Missing arguments/;

/** The threads, questions and files that the generated calls can use. */
class Ground implements AsyncDisposable {
  readonly agent = new MemoryAgent({ approvalFallback: "hold" });
  /** Threads with a turn that runs until it is stopped. */
  running: string[] = [];
  ids: string[] = [];
  questions: string[] = [];

  async prepare(): Promise<void> {
    mkdirSync(this.repository);
    for (const args of GIT) execFileSync("git", args, { cwd: this.repository });
    await using session = await this.connect();
    const begin = async (args: Json) => threadOf(await session.call("codex", args));
    const done = await begin({ prompt: "!say hello" });
    const archived = await begin({ prompt: "!say put away" });
    await session.call("codex-manage", { action: "archive", threadId: archived });
    const hanging = await begin({ prompt: "!hang", wait: 0 });
    const asking = await Promise.all(Array.from({ length: QUESTIONS }, () => session.call("codex", ASKING)));
    this.questions = asking.map((result) => String(valueAt(result, "structuredContent.questions.0.id")));
    this.running = [hanging, ...asking.map(threadOf)];
    this.ids = [done, archived, hanging, ...this.running.slice(-1), NOBODY];
  }

  get repository(): string {
    return path.join(this.agent.folder, "repository");
  }

  async connect(): Promise<MemorySession> {
    const session = new MemorySession({ agent: this.agent, sets: ["codex", "extras"] });
    await session.initialize();
    return session;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.agent[Symbol.asyncDispose]();
  }
}

/** Values for an argument that a tool can act on, by the argument's name. */
function pool(name: string, { ids, questions, agent, repository }: Ground): readonly unknown[] {
  const words = ["!say hello", "!say é\u{1f600}", "", " ", HUGE];
  const pools: Readonly<Record<string, readonly unknown[]>> = {
    prompt: words,
    threadId: ids,
    conversationId: ids,
    branch: ["main", "main", "nobranch"],
    commit: ["HEAD", "0000000"],
    instructions: words,
    id: [...questions, NOBODY],
    cwd: [".", repository, repository, agent.folder, `${agent.folder}/nowhere`],
    config: [{}, { model_reasoning_effort: "low" }, { "features.x": true }],
    command: [["true"], ["echo", "x"], ["no-such-program"], [], [""], ["sh", "-c", "echo x >&2; exit 3"]],
    wait: [0, 1, 31_536_000],
    "result-tokens": [0, 1, 20, 1_000, 1_000_000],
    timeoutMs: [1, 5_000, 3_600_000],
    limit: [1, 2, 100],
    cursor: ["0", "1", "nowhere"],
  };
  return pools[name] ?? ["", "main", "!say hello", HUGE];
}

function rightValue(random: SeededRandom, name: string, schema: ArgumentSchema, ground: Ground): unknown {
  if (schema.enum) return random.pick(schema.enum);
  if (schema.type === "boolean") return random.chance(0.5);
  return random.pick(pool(name, ground));
}

function wrongValue(random: SeededRandom, { type, minimum = 0, maximum = 0 }: ArgumentSchema): unknown {
  if (type === "integer" && random.chance(0.5)) return random.pick([minimum - 1, maximum + 1, minimum + 0.5, String(minimum)]);
  return random.chance(0.3) ? random.pick([null, HUGE, NOBODY.toUpperCase(), strangeText(random)]) : strangeValue(random);
}

function inventArguments(random: SeededRandom, { name, inputSchema }: ToolDeclaration, ground: Ground): unknown {
  if (random.chance(0.03)) return random.pick([null, {}]);
  if (random.chance(0.1)) return bentObject(random, (pins.examples as Readonly<Record<string, Json>>)[name] ?? {});
  const { properties, required = [] } = inputSchema as InputSchema;
  const args: Record<string, unknown> = {};
  for (const [argument, schema] of Object.entries(properties)) {
    if (!random.chance(required.includes(argument) ? 0.95 : 0.4)) continue;
    args[argument] = random.chance(0.9) ? rightValue(random, argument, schema, ground) : wrongValue(random, schema);
  }
  if (random.chance(0.07)) args[strangeText(random)] = strangeValue(random);
  if (random.chance(0.07)) args[random.pick(INJECTED_ARGUMENTS).name] = strangeValue(random);
  return args;
}

/** A call that waits for a running turn is answered when its wait ends. Long generated waits are replaced by 0, so that it is answered at once. */
function withoutPatience(args: unknown, { name }: ToolDeclaration, { running, ids }: Ground): unknown {
  if (!isRecord(args)) return args;
  const named = [args["threadId"], args["conversationId"]].some((id) => running.includes(String(id).toLowerCase()));
  if (!named) return args;
  if (name === "codex-manage") return args["action"] === "compact" ? { ...args, threadId: ids[0] } : args;
  const waits = name === "codex-wait" || name === "codex-reply";
  return waits && [undefined, null, "", 1, 31_536_000].includes(args["wait"] as number) ? { ...args, wait: 0 } : args;
}

const validators = new AjvJsonSchemaValidator();

/** The published schema without additional properties. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (!isRecord(schema)) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]));
  return schema["type"] === "object" && isRecord(schema["properties"]) ? { ...inner, additionalProperties: false } : inner;
}

/** Returns what is wrong with a value. */
type Check = (value: unknown) => string | undefined;

interface CheckedTool {
  readonly tool: ToolDeclaration;
  readonly input: Check;
  readonly output: Check | undefined;
}

function checked(tool: ToolDeclaration): CheckedTool {
  const { inputSchema, outputSchema } = tool;
  return { tool, input: checkFor(inputSchema), output: outputSchema === undefined ? undefined : checkFor(closed(outputSchema)) };
}

function checkFor(schema: unknown): Check {
  const validate = validators.getValidator(schema as Parameters<typeof validators.getValidator>[0]);
  return (value) => {
    const { valid, errorMessage } = validate(value);
    return valid ? undefined : errorMessage;
  };
}

/**
 * The arguments in the form in which the server checks them: without null values and empty optional ones, which count as absent, and without
 * those that clients add.
 */
function asChecked(args: unknown, { properties, required = [] }: InputSchema): unknown {
  const isLeftEmpty = (name: string, value: unknown) => value === "" && Object.hasOwn(properties, name) && !required.includes(name);
  const entries = Object.entries(isRecord(args) ? args : {}).filter(([name, value]) => value !== null && !isLeftEmpty(name, value));
  return Object.fromEntries(entries.filter(([name]) => Object.hasOwn(properties, name) || !isInjected(name)));
}

/** All faults of an answer that a program can detect from the declaration. */
function faultsOf(answer: Json, args: unknown, { tool, input, output }: CheckedTool): string[] {
  const result = answer["result"];
  if (!isRecord(result)) return [`no result: ${JSON.stringify(answer["error"])}`];
  const { structuredContent, isError, content } = result;
  const text = Array.isArray(content) ? content.map((part) => String(valueAt(part, "text"))).join("\n") : "";
  const faults: string[] = [];
  if (output) {
    if (structuredContent === undefined && isError !== true) faults.push("an answer without structuredContent");
    const misfit = structuredContent === undefined ? undefined : output(structuredContent);
    if (misfit !== undefined) faults.push(`structuredContent: ${misfit}`);
  }
  if (isError !== undefined && isError !== true) faults.push(`isError is ${JSON.stringify(isError)}`);
  if (isError === true && !/\p{L}+\P{L}+\p{L}+/u.test(text)) faults.push("an error without a sentence");
  if (SURPRISE.test(text) && !SURPRISE.test(JSON.stringify(args) ?? "")) faults.push("surprise");
  const problem = input(asChecked(args, tool.inputSchema as InputSchema));
  const isRefused = valueAt(result, "_meta.codex-mcpd/error") === "invalid_arguments";
  if (problem !== undefined && !isRefused) faults.push(`arguments taken though ${problem}`);
  if (problem === undefined && isRefused && MISFIT.test(text) && (args ?? undefined) !== undefined)
    faults.push("arguments refused that fit the schema");
  return faults.map((fault) => `${fault}; said ${short(text)}`);
}

function short(text: string): string {
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

async function answerTo(session: MemorySession, name: string, args: unknown): Promise<Json> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Json>((resolve) => {
    timer = setTimeout(() => resolve({ error: `no answer within ${DEADLINE_MS} ms` }), DEADLINE_MS);
  });
  const answer = await Promise.race([session.request("tools/call", { name, arguments: args }), late]);
  clearTimeout(timer);
  return answer;
}

let ground: Ground;
// For each tool anew: some calls stop the running turns that others need.
beforeEach(async () => {
  ground = new Ground();
  await ground.prepare();
});
afterEach(() => ground[Symbol.asyncDispose]());

const DECLARATIONS = toolsOf(["codex", "extras"]).map(({ declaration }) => declaration);

it.each(DECLARATIONS.map((tool, place) => [tool.name, tool, place] as const))(
  `%s answers ${CALLS} invented calls as its schemas say`,
  { timeout: 60_000 },
  async (name, tool, place) => {
    await using session = await ground.connect();
    const against = checked(tool);
    const faults: string[] = [];
    const seen = { answers: 0, errors: 0 };
    const play = async (number: number) => {
      const random = new SeededRandom((SEED + place) * 1_000_003 + number);
      const args = withoutPatience(inventArguments(random, tool, ground), tool, ground);
      const answer = await answerTo(session, name, args);
      seen[valueAt(answer, "result.isError") === true ? "errors" : "answers"]++;
      faults.push(...faultsOf(answer, args, against).map((fault) => `call ${number}, ${short(JSON.stringify(args) ?? "none")}: ${fault}`));
    };
    for (let first = 0; first < CALLS; first += AT_ONCE)
      await Promise.all(Array.from({ length: AT_ONCE }, (_, offset) => play(first + offset)));
    expect(faults).toEqual([]);
    // A run in which all calls fail, or none does, would show little.
    expect(Math.min(seen.answers, seen.errors)).toBeGreaterThanOrEqual(5);
  },
);
