import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ClientModel } from "./clientModel.js";

type Json = Readonly<Record<string, unknown>>;

let model: ClientModel;
let address: string;
beforeEach(async () => {
  model = new ClientModel();
  address = await model.listen();
});
afterEach(() => model[Symbol.asyncDispose]());

async function ask(path: string, body: Json): Promise<string> {
  const response = await fetch(`${address}${path}`, { method: "POST", body: JSON.stringify(body) });
  return response.text();
}

/** The requests of each vendor's clients, with our tool `codex` and, after a call, its result. */
const VENDORS = {
  "OpenAI chat completions": {
    path: "/v1/chat/completions",
    tools: [{ type: "function", function: { name: "mcp_codex_codex" } }],
    result: (text: string) => ({ messages: [{ role: "tool", tool_call_id: "call_0_1", content: text }] }),
  },
  "OpenAI Responses": {
    path: "/v1/responses",
    tools: [{ type: "namespace", name: "mcp__codex", tools: [{ name: "codex" }] }],
    result: (text: string) => ({ input: [{ type: "function_call_output", call_id: "call_0_1", output: text }] }),
  },
  Anthropic: {
    path: "/v1/messages",
    tools: [{ name: "mcp__codex__codex" }],
    result: (text: string) => ({
      messages: [{ role: "user", content: [{ type: "tool_result", tool_use_id: "call_0_1", content: [{ type: "text", text }] }] }],
    }),
  },
  Gemini: {
    path: "/v1beta/models/m:streamGenerateContent",
    tools: [{ functionDeclarations: [{ name: "codex_codex" }] }],
    result: (text: string) => ({ contents: [{ parts: [{ functionResponse: { id: "call_0_1", response: { output: text } } }] }] }),
  },
} as const;

describe.each(Object.entries(VENDORS))("the model of a client of %s", (_, { path, tools, result }) => {
  it.each([true, false])("calls the tool, and records what the client shows it of the result (stream: %s)", async (stream) => {
    model.play((results) => (results.length === 0 ? { tool: "codex", args: { prompt: "one" } } : undefined));
    const first = await ask(path, { stream, tools });
    expect(first).toContain("codex");
    expect(first.replaceAll("\\", "")).toContain('"prompt":"one"');
    const second = await ask(path, { stream, tools, ...result("the result") });
    expect(second).toContain("Done.");
    expect(model.results).toEqual([expect.stringContaining("the result")]);
    expect(model.offered).toHaveLength(1);
  });
});

const { path, tools, result } = VENDORS["OpenAI chat completions"];

it("keeps the first text of a result, which clients shorten later", async () => {
  model.play((results) => ({ tool: "codex", args: { step: results.length } }));
  await ask(path, { tools });
  await ask(path, { tools, ...result("whole") });
  await ask(path, { tools, ...result("cut") });
  expect(model.results).toEqual(["whole"]);
});

it("does not take codex-reply for codex", async () => {
  model.play(() => ({ tool: "codex", args: {} }));
  const answer = await ask(path, { tools: [{ function: { name: "mcp__codex__codex-reply" } }] });
  expect(answer).toContain("There is no tool codex.");
});

it("looks for a tool that is hidden, and calls it through the client's own tool", async () => {
  model.play(() => ({ tool: "codex-wait", args: { threadId: "t" } }));
  const hiding = [{ function: { name: "tool_search" } }, { function: { name: "tool_call" } }];
  const search = JSON.parse(await ask(path, { tools: hiding }));
  expect(search.choices[0].message.tool_calls[0].function).toEqual({
    name: "tool_search",
    arguments: JSON.stringify({ query: "select:mcp__codex__codex-wait" }),
  });
  const found = [{ role: "tool", tool_call_id: "find_1", content: '<function>{"name": "mcp__codex__codex-wait"}</function>' }];
  const call = JSON.parse(await ask(path, { tools: hiding, messages: found }));
  expect(JSON.parse(call.choices[0].message.tool_calls[0].function.arguments)).toEqual({
    name: "mcp__codex__codex-wait",
    arguments: { threadId: "t" },
  });
  expect(model.results).toEqual([]);
});

it("ends a conversation whose script does not", async () => {
  model.play(() => ({ tool: "codex", args: {} }));
  for (let asked = 0; asked < 40; asked++) expect(await ask(path, { tools })).toContain("call_0_");
  expect(await ask(path, { tools })).toContain("Done.");
});
