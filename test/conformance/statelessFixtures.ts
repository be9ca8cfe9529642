import { setTimeout as sleep } from "node:timers/promises";
import { invalidParams } from "../../src/jsonrpc/errors.js";
import { STATELESS_REVISIONS } from "../../src/mcp/revisions.js";
import { resultOfWork, type Work } from "../../src/mcp/stateless/followedTurn.js";
import type { StatelessMethod, StatelessRequest } from "../../src/mcp/stateless/request.js";
import { META, missingCapability, TASKS_EXTENSION } from "../../src/mcp/stateless/request.js";
import { RequestStates } from "../../src/mcp/stateless/requestState.js";
import { listTools, StatelessServer } from "../../src/mcp/stateless/server.js";
import { listen, Subscriptions, taskNews } from "../../src/mcp/stateless/subscriptions.js";
import { requireTasks, taskMethods } from "../../src/mcp/stateless/taskMethods.js";
import { TaskRegistry } from "../../src/mcp/stateless/taskRegistry.js";
import type { ToolDeclaration } from "../../src/mcp/tools/tool.js";
import { TaskFiles } from "../../src/stores/files/tasks.js";
import { isRecord, valueAt } from "../support/scenarios/scenario.js";
import { CONTENT_METHODS, PLAIN_TOOLS, text } from "./fixtureContent.js";
import schema202012 from "./schema202012.json" with { type: "json" };
import { greetLater, TASK_TOOLS } from "./taskFixtures.js";

type Json = Readonly<Record<string, unknown>>;
type Tool = (request: StatelessRequest) => Promise<Json> | Json;

const CACHEABLE = { ttlMs: 1_000, cacheScope: "public" } as const;
const STATE_LASTS_MS = 60_000;
const PAUSE_MS = 50;

const says = (words: string): Json => ({ content: [text(words)] });
const form = (message: string, properties: Json) => ({
  method: "elicitation/create",
  params: { mode: "form", message, requestedSchema: { type: "object", properties, required: Object.keys(properties) } },
});
const ASKS_NAME = { user_name: form("What is your name?", { name: { type: "string" } }) };
const ASKS_OK = { confirm: form("Please confirm", { ok: { type: "boolean" } }) };
const ASKS_MODEL = {
  capital_question: {
    method: "sampling/createMessage",
    params: { messages: [{ role: "user", content: text("What is the capital of France?") }], maxTokens: 100 },
  },
};
const ASKS_ROOTS = { client_roots: { method: "roots/list", params: {} } };

/** The server's own handling of requests without a session, with the suite's tools, prompts and resources. */
export class StatelessFixtures {
  readonly server: StatelessServer;
  readonly #subscriptions = new Subscriptions();
  readonly #board: TaskRegistry;
  readonly #states = new RequestStates();

  constructor(codexHome: string) {
    const changed = (id: string, told: Json) => this.#subscriptions.tell(taskNews(id, told));
    this.#board = new TaskRegistry({ store: new TaskFiles(codexHome), changed, report: (line) => console.error(line) });
    this.server = new StatelessServer({ methods: this.#methods(), leaving: () => this.#subscriptions.close() });
  }

  #methods(): Readonly<Record<string, StatelessMethod>> {
    const { "prompts/get": getPrompt, "completion/complete": complete, ...lists } = CONTENT_METHODS;
    const cacheable = Object.entries(lists).map(([method, content]): [string, StatelessMethod] => [
      method,
      async ({ params }) => ({ ...content(params), ...CACHEABLE }),
    ]);
    return {
      "server/discover": async () => ({ supportedVersions: STATELESS_REVISIONS, capabilities: CAPABILITIES, ...CACHEABLE }),
      "tools/list": listTools({ listFor: () => STATELESS_FIXTURE_TOOLS }),
      "tools/call": async (request) => this.#call(request),
      "prompts/get": async ({ params }) => (params["name"] === PROMPT_THAT_ASKS ? promptThatAsks(params) : (getPrompt?.(params) ?? {})),
      "completion/complete": async ({ params }) => complete?.(params) ?? {},
      "subscriptions/listen": listen({
        subscriptions: this.#subscriptions,
        lists: ["toolsListChanged", "promptsListChanged", "resourcesListChanged"],
        tasks: this.#board,
      }),
      ...Object.fromEntries(cacheable),
      ...taskMethods(this.#board),
    };
  }

  async #call(request: StatelessRequest): Promise<Json> {
    const name = String(request.params["name"]);
    const plain = PLAIN_TOOLS[name];
    if (plain) return plain;
    const task = TASK_TOOLS[name];
    if (task) return this.#runTask(request, () => task.begin(request.params["arguments"]), task.required);
    const tool = this.#tools[name];
    if (!tool) throw invalidParams(`Unknown tool: ${name}`);
    return tool(request);
  }

  async #runTask(request: StatelessRequest, begin: () => Work, required = false): Promise<Json> {
    const knowsTasks = TASKS_EXTENSION in request.claim.extensions;
    if (required) requireTasks(request.claim);
    const work = begin();
    const { signal, caller } = request;
    const facts = { owner: caller?.principal ?? null, ifLost: {}, inlineMs: 0, signal };
    const answer = knowsTasks ? await this.#board.adopt(work, facts) : undefined;
    return answer ?? resultOfWork(await work.ended);
  }

  readonly #tools: Readonly<Record<string, Tool>> = {
    greet: ({ params }) => says(`Hello, ${String(valueAt(params, "arguments.name"))}!`),
    test_header_param: () => says("done"),
    test_tool_with_progress: reportProgress,
    test_logging_tool: writeLog,
    test_missing_capability: ({ claim }) => {
      if (isRecord(claim.capabilities["sampling"])) return says("done");
      throw missingCapability("This tool asks the client's model", { sampling: {} });
    },
    test_streaming_elicitation: () => inputRequired(ASKS_NAME),
    test_trigger_tool_change: () => this.#announce("toolsListChanged", "notifications/tools/list_changed"),
    test_trigger_prompt_change: () => this.#announce("promptsListChanged", "notifications/prompts/list_changed"),
    test_input_required_result_elicitation: (request) =>
      withAnswers(request, ASKS_NAME, ({ user_name }) => says(`Hello, ${String(valueAt(user_name, "content.name"))}!`)),
    test_input_required_result_sampling: (request) =>
      withAnswers(request, ASKS_MODEL, ({ capital_question }) => says(String(valueAt(capital_question, "content.text")))),
    test_input_required_result_list_roots: (request) =>
      withAnswers(request, ASKS_ROOTS, ({ client_roots }) => says(`Roots: ${JSON.stringify(valueAt(client_roots, "roots"))}`)),
    test_input_required_result_capabilities: ({ claim }) =>
      inputRequired({
        ...("elicitation" in claim.capabilities ? ASKS_NAME : {}),
        ...("sampling" in claim.capabilities ? ASKS_MODEL : {}),
      }),
    test_input_required_result_request_state: (request) => this.#inRounds(request, [ASKS_OK], () => says("state-ok")),
    test_input_required_result_tampered_state: (request) => this.#inRounds(request, [ASKS_OK], () => says("state-ok")),
    test_input_required_result_multiple_inputs: (request) =>
      this.#inRounds(request, [{ ...ASKS_NAME, greeting: ASKS_MODEL.capital_question, ...ASKS_ROOTS }], () => says("all there")),
    test_input_required_result_multi_round: (request) =>
      this.#inRounds(
        request,
        [
          { step1: form("Step 1: What is your name?", { name: { type: "string" } }) },
          { step2: form("Step 2: What is your favorite color?", { color: { type: "string" } }) },
        ],
        () => says("done"),
      ),
    test_tool_with_task: (request) =>
      withAnswers(request, ASKS_NAME, ({ user_name }) =>
        this.#runTask(request, () => greetLater(String(valueAt(user_name, "content.name"))), true),
      ),
  };

  #announce(topic: string, method: string): Json {
    this.#subscriptions.tell({ topic, method, params: {} });
    return says("changed");
  }

  /** Asks one question per round, and keeps the progress in a signed state that the client cannot change. */
  #inRounds(request: StatelessRequest, rounds: readonly Json[], finish: () => Json): Json {
    const { name, arguments: args, requestState, inputResponses } = request.params;
    const binding = { principal: request.caller?.principal, tool: String(name), args };
    const round = requestState === undefined ? 0 : this.#roundOf(requestState, binding);
    const asked = rounds[round - 1];
    const answered = asked === undefined || Object.keys(asked).every((key) => isRecord(inputResponses) && isRecord(inputResponses[key]));
    const next = answered ? round : round - 1;
    const asks = rounds[next];
    if (!asks) return finish();
    return {
      ...inputRequired(asks),
      requestState: this.#states.seal(String(next + 1), { ...binding, until: Date.now() + STATE_LASTS_MS }),
    };
  }

  #roundOf(requestState: unknown, binding: Parameters<RequestStates["open"]>[1]): number {
    const opened = this.#states.open(String(requestState), binding);
    if (typeof opened === "string") throw invalidParams(`requestState: ${opened}`);
    return Number(opened.call);
  }

  static readonly toolNames = [
    ...Object.keys(PLAIN_TOOLS),
    ...Object.keys(TASK_TOOLS),
    "greet",
    "test_header_param",
    "test_tool_with_progress",
    "test_logging_tool",
    "test_missing_capability",
    "test_streaming_elicitation",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "test_tool_with_task",
    ...["elicitation", "sampling", "list_roots", "capabilities", "request_state", "tampered_state", "multiple_inputs", "multi_round"].map(
      (what) => `test_input_required_result_${what}`,
    ),
  ];
}

const CAPABILITIES = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { listChanged: true },
  completions: {},
  logging: {},
  extensions: { [TASKS_EXTENSION]: {} },
};

const PROMPT_THAT_ASKS = "test_input_required_result_prompt";

export const STATELESS_FIXTURE_TOOLS: readonly ToolDeclaration[] = StatelessFixtures.toolNames.map((name) => ({
  name,
  title: name,
  description: "For the conformance suite.",
  inputSchema: schemaOf(name),
  outputSchema: undefined,
}));

function schemaOf(name: string): unknown {
  if (name === "json_schema_2020_12_tool") return schema202012;
  if (name === "test_header_param") return { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } };
  return { type: "object" };
}

function inputRequired(inputRequests: Json): Json {
  return { resultType: "input_required", inputRequests };
}

/** Repeats the questions until all are answered. */
function withAnswers(request: StatelessRequest, asks: Json, finish: (answers: Json) => Promise<Json> | Json): Promise<Json> | Json {
  const { inputResponses } = request.params;
  if (inputResponses === null) throw invalidParams("`inputResponses` must be an object");
  const answers = isRecord(inputResponses) ? inputResponses : {};
  return Object.keys(asks).every((key) => isRecord(answers[key])) ? finish(answers) : inputRequired(asks);
}

function promptThatAsks(params: Json): Json {
  const asks = { user_context: form("What context should the prompt use?", { context: { type: "string" } }) };
  const context = valueAt(params, "inputResponses.user_context.content.context");
  return context === undefined
    ? inputRequired(asks)
    : { messages: [{ role: "user", content: text(`In the context of ${JSON.stringify(context)}.`) }] };
}

async function reportProgress({ claim: { progressToken }, peer }: StatelessRequest): Promise<Json> {
  for (const progress of [0, 50, 100]) {
    if (progressToken !== undefined) peer.notify("notifications/progress", { progressToken, progress, total: 100 });
    await sleep(PAUSE_MS);
  }
  return says("done");
}

async function writeLog({ claim: { logLevel }, peer }: StatelessRequest): Promise<Json> {
  if (logLevel !== undefined) peer.notify("notifications/message", { level: "info", data: "logged", _meta: { [META.logLevel]: logLevel } });
  return says("done");
}
