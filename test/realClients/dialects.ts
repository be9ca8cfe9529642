// Long because it reads and writes four model APIs, side by side.
type Json = Readonly<Record<string, unknown>>;

/** A tool as a client offers it to its model. */
export interface OfferedTool {
  readonly name: string;
  /** Codex puts the tools of a server into a namespace. */
  readonly namespace?: string;
  readonly type?: string;
}

export interface ModelCall {
  readonly id: string;
  readonly name: string;
  readonly namespace?: string;
  readonly args: Json;
  /** A search for tools. The Responses API has an item of its own for it. */
  readonly search?: boolean;
}

/** The model's answer: a text, or one call. */
export type ModelAnswer = { readonly say: string } | { readonly call: ModelCall };

/** The result of a call as the client passed it on. */
export interface PassedResult {
  readonly id: string;
  readonly text: string;
}

export type ModelReply =
  | { readonly json: unknown }
  | { readonly events: readonly unknown[] /** Each event says its type in a line of its own. */; readonly named: boolean };

/** The API of one vendor's model. */
export interface Dialect {
  readonly path: RegExp;
  tools(body: Json): readonly OfferedTool[];
  results(body: Json): readonly PassedResult[];
  reply(body: Json, answer: ModelAnswer, path: string): ModelReply;
}

const MODEL = "mock-model";

/** Some clients treat two answers with one id as the same. */
function serial(answer: ModelAnswer): string {
  return "call" in answer ? answer.call.id : "end";
}

function list(value: unknown): readonly Json[] {
  return Array.isArray(value) ? (value as Json[]) : [];
}

function named(tool: Json | undefined, otherwise?: unknown): string {
  return String(tool?.["name"] ?? otherwise);
}

/** The text of a result in any of its forms. */
function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  if (!Array.isArray(value)) return JSON.stringify(value ?? "");
  return list(value)
    .map((part) => (typeof part["text"] === "string" ? part["text"] : textOf(part["content"] ?? part)))
    .join("\n");
}

const CHAT: Dialect = {
  path: /\/chat\/completions/,
  tools: ({ tools }) => list(tools).map((tool) => ({ name: named(tool["function"] as Json | undefined, tool["name"]) })),
  results: ({ messages }) =>
    list(messages)
      .filter((message) => message["role"] === "tool")
      .map((message) => ({ id: String(message["tool_call_id"]), text: textOf(message["content"]) })),
  reply({ stream, model }, answer) {
    const base = { id: `chat_${serial(answer)}`, created: 1, model: model ?? MODEL };
    const message = {
      role: "assistant",
      ...("call" in answer ? { content: null, tool_calls: [chatCall(answer.call)] } : { content: answer.say }),
    };
    const finish_reason = "call" in answer ? "tool_calls" : "stop";
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
    if (!stream) return { json: { ...base, object: "chat.completion", choices: [{ index: 0, message, finish_reason }], usage } };
    const chunk = { ...base, object: "chat.completion.chunk" };
    return {
      named: false,
      events: [
        { ...chunk, choices: [{ index: 0, delta: message, finish_reason: null }] },
        { ...chunk, choices: [{ index: 0, delta: {}, finish_reason }] },
        { ...chunk, choices: [], usage },
        "[DONE]",
      ],
    };
  },
};

function chatCall({ id, name, args }: ModelCall): Json {
  return { index: 0, id, type: "function", function: { name, arguments: JSON.stringify(args) } };
}

const RESPONSES: Dialect = {
  path: /\/responses/,
  tools: ({ tools }) =>
    list(tools).flatMap((tool): OfferedTool[] =>
      tool["type"] === "namespace"
        ? list(tool["tools"]).map((inner) => ({ name: named(inner), namespace: named(tool) }))
        : [{ name: named(tool, tool["type"]), type: String(tool["type"]) }],
    ),
  results: ({ input }) =>
    list(input)
      .filter((item) => String(item["type"]).endsWith("_output"))
      .map((item) => ({ id: String(item["call_id"]), text: textOf(item["output"] ?? item["tools"]) })),
  reply({ stream, model }, answer) {
    const item = "call" in answer ? responsesCall(answer.call) : responsesMessage(answer.say);
    const response = {
      id: `resp_${serial(answer)}`,
      object: "response",
      created_at: 1,
      status: "completed",
      model: model ?? MODEL,
      output: [item],
      parallel_tool_calls: false,
      tools: [],
      tool_choice: "auto",
      usage: {
        input_tokens: 10,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: 5,
        output_tokens_details: { reasoning_tokens: 0 },
        total_tokens: 15,
      },
    };
    if (!stream) return { json: response };
    const delta =
      "say" in answer
        ? [{ type: "response.output_text.delta", item_id: item["id"], output_index: 0, content_index: 0, delta: answer.say }]
        : [];
    const events = [
      { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
      {
        type: "response.output_item.added",
        output_index: 0,
        item: "say" in answer ? { ...item, content: [], status: "in_progress" } : item,
      },
      ...delta,
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response },
    ];
    return { named: true, events: events.map((event, sequence_number) => ({ ...event, sequence_number })) };
  },
};

function responsesMessage(text: string): Json {
  return {
    type: "message",
    id: "msg_end",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text, annotations: [] }],
  };
}

function responsesCall({ id, name, namespace, args, search }: ModelCall): Json {
  const item = { id: `item_${id}`, call_id: id, status: "completed" };
  if (search) return { ...item, type: "tool_search_call", execution: "client", arguments: args };
  return { ...item, type: "function_call", name, ...(namespace !== undefined && { namespace }), arguments: JSON.stringify(args) };
}

const ANTHROPIC: Dialect = {
  path: /\/v1\/messages/,
  tools: ({ tools }) => list(tools).map((tool) => ({ name: named(tool) })),
  results: ({ messages }) =>
    list(messages)
      .flatMap(({ content }) => list(content))
      .filter((block) => block["type"] === "tool_result")
      .map((block) => ({ id: String(block["tool_use_id"]), text: textOf(block["content"]) })),
  reply({ stream, model }, answer) {
    const stop_reason = "call" in answer ? "tool_use" : "end_turn";
    const block =
      "call" in answer
        ? { type: "tool_use", id: answer.call.id, name: answer.call.name, input: answer.call.args }
        : { type: "text", text: answer.say };
    const message = {
      id: `msg_${serial(answer)}`,
      type: "message",
      role: "assistant",
      model,
      content: [block],
      stop_reason,
      stop_sequence: null,
    };
    const usage = { input_tokens: 10, output_tokens: 5 };
    if (!stream) return { json: { ...message, usage } };
    const [empty, delta] =
      "call" in answer
        ? [
            { ...block, input: {} },
            { type: "input_json_delta", partial_json: JSON.stringify(answer.call.args) },
          ]
        : [
            { ...block, text: "" },
            { type: "text_delta", text: answer.say },
          ];
    return {
      named: true,
      events: [
        { type: "message_start", message: { ...message, usage, content: [], stop_reason: null } },
        { type: "content_block_start", index: 0, content_block: empty },
        { type: "content_block_delta", index: 0, delta },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 5 } },
        { type: "message_stop" },
      ],
    };
  },
};

const GEMINI: Dialect = {
  path: /generateContent/i,
  tools: ({ tools }) => list(tools).flatMap((tool) => list(tool["functionDeclarations"]).map((one) => ({ name: named(one) }))),
  results: ({ contents }) =>
    list(contents)
      .flatMap(({ parts }) => list(parts))
      .flatMap((part) => {
        const result = part["functionResponse"] as Json | undefined;
        return result ? [{ id: String(result["id"]), text: textOf(result["response"]) }] : [];
      }),
  reply(_body, answer, path) {
    const part =
      "call" in answer
        ? { functionCall: { id: answer.call.id, name: answer.call.name, args: answer.call.args }, thoughtSignature: "c2ln" }
        : { text: answer.say };
    const whole = {
      candidates: [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
      modelVersion: MODEL,
    };
    return path.includes("streamGenerateContent") ? { named: false, events: [whole] } : { json: whole };
  },
};

export const DIALECTS: readonly Dialect[] = [CHAT, RESPONSES, ANTHROPIC, GEMINI];
