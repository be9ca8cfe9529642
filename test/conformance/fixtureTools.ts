import { setTimeout as sleep } from "node:timers/promises";
import type { IncomingRequest } from "../../src/jsonrpc/peer.js";
import type { Session } from "../../src/mcp/sessions/session.js";
import type { ToolDeclaration } from "../../src/mcp/tools/tool.js";
import { readProgressToken } from "../../src/mcp/wording/turnView.js";
import { isRecord, valueAt } from "../support/scenarios/scenario.js";
import { CONTENT_METHODS, PLAIN_TOOLS, text } from "./fixtureContent.js";
import schema202012 from "./schema202012.json" with { type: "json" };

/** A call of one of the tools that the conformance suite expects from a server. */
export interface FixtureCall {
  readonly session: Session;
  readonly request: IncomingRequest;
  /** Ends the open streams, as a server does if its clients should reconnect later. */
  readonly endStreams: () => void;
}

type Fixture = (call: FixtureCall) => unknown;

/** The suite expects the messages one at a time. */
const PAUSE_MS = 50;
/** Longer than the second after which a silent call's answer becomes a stream, with a margin for a busy machine. */
const UNTIL_STREAMING_MS = 3_000;

/** Names and results are the suite's. */
const FIXTURES = new Map<string, Fixture>([
  ...Object.entries(PLAIN_TOOLS).map(([name, result]): [string, Fixture] => [name, () => result]),
  ["test_tool_with_progress", reportProgress],
  ["test_tool_with_logging", writeLog],
  ["test_sampling", askModel],
  ["test_elicitation", (call) => askPerson(call, USER_FORM)],
  ["test_elicitation_sep1034_defaults", (call) => askPerson(call, FORM_WITH_DEFAULTS)],
  ["test_elicitation_sep1330_enums", (call) => askPerson(call, FORM_WITH_CHOICES)],
  ["test_reconnection", answerLater],
]);

export const FIXTURE_TOOLS: readonly ToolDeclaration[] = [...FIXTURES.keys()].map((name) => ({
  name,
  title: name,
  description: "For the conformance suite.",
  inputSchema:
    name === "json_schema_2020_12_tool"
      ? schema202012
      : { type: "object", properties: { prompt: { type: "string" }, message: { type: "string" } } },
  outputSchema: undefined,
}));

export const FIXTURE_METHODS = ["tools/call", "resources/subscribe", "resources/unsubscribe", ...Object.keys(CONTENT_METHODS)];

/** The fixture's result for a call; undefined if the request is for no fixture. */
export function callFixture(call: FixtureCall): Promise<unknown> | undefined {
  const { method, params } = call.request;
  if (method === "resources/subscribe" || method === "resources/unsubscribe") return Promise.resolve({});
  const content = CONTENT_METHODS[method];
  if (content) return Promise.resolve().then(() => content(params));
  const fixture = method === "tools/call" ? FIXTURES.get(String(valueAt(params, "name"))) : undefined;
  return fixture && Promise.resolve(fixture(call));
}

function says(...content: readonly unknown[]): Readonly<Record<string, unknown>> {
  return { content };
}

async function reportProgress({ session, request }: FixtureCall): Promise<unknown> {
  const progressToken = isRecord(request.params) ? readProgressToken(request.params) : undefined;
  for (const progress of [0, 50, 100]) {
    session.peer.notify("notifications/progress", { progressToken, progress, total: 100 }, { relatedTo: request.id });
    await sleep(PAUSE_MS);
  }
  return says(text("done"));
}

async function writeLog({ session, request }: FixtureCall): Promise<unknown> {
  for (const data of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
    session.peer.notify("notifications/message", { level: "info", data }, { relatedTo: request.id });
    await sleep(PAUSE_MS);
  }
  return says(text("done"));
}

async function askModel({ session, request }: FixtureCall): Promise<unknown> {
  const prompt = String(valueAt(request.params, "arguments.prompt"));
  const params = { messages: [{ role: "user", content: text(prompt) }], maxTokens: 100 };
  const answer = await session.peer.request("sampling/createMessage", params, { relatedTo: request.id });
  return says(text(`LLM response: ${String(valueAt(answer, "content.text"))}`));
}

async function askPerson({ session, request }: FixtureCall, properties: Readonly<Record<string, unknown>>): Promise<unknown> {
  const params = { message: "Please fill in the form.", requestedSchema: { type: "object", properties } };
  return says(
    text(`User response: ${JSON.stringify(await session.peer.request("elicitation/create", params, { relatedTo: request.id }))}`),
  );
}

/** The client loses its stream before the answer and must receive the answer after it reconnects. */
async function answerLater({ endStreams }: FixtureCall): Promise<unknown> {
  await sleep(UNTIL_STREAMING_MS);
  endStreams();
  await sleep(PAUSE_MS);
  return says(text("here is the rest"));
}

const USER_FORM = { username: { type: "string" }, email: { type: "string" } };
const FORM_WITH_DEFAULTS = {
  name: { type: "string", default: "John Doe" },
  age: { type: "integer", default: 30 },
  score: { type: "number", default: 95.5 },
  status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
  verified: { type: "boolean", default: true },
};
const OPTIONS = ["option1", "option2", "option3"];
const TITLED = [
  { const: "value1", title: "First" },
  { const: "value2", title: "Second" },
  { const: "value3", title: "Third" },
];
const FORM_WITH_CHOICES = {
  untitledSingle: { type: "string", enum: OPTIONS },
  titledSingle: { type: "string", oneOf: TITLED },
  legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"], enumNames: ["Option One", "Option Two", "Option Three"] },
  untitledMulti: { type: "array", items: { type: "string", enum: OPTIONS } },
  titledMulti: { type: "array", items: { anyOf: TITLED } },
};
