import { unexpected } from "../../../lib/complaints.js";
import { describe } from "../../../lib/errors.js";
import { type Fields, isFields, isNestedTooDeeply, MOST_LEVELS, parseForeignJson } from "../../../lib/fields.js";
import { JsonFault, lineAndColumn, readPlaces } from "../../../lib/serdeJson.js";
import type { McpInvocation } from "../../../threads/items.js";
import type { Declaration, DeclaredTool, ToolContext, ToolResult, ToolRun } from "../tools/tool.js";
import type { AgentServer } from "./agentServer.js";
import { McpRequestFailed, McpServerNotStarted, McpTimedOut } from "./failures.js";
import { CallResult, type ListedTool } from "./serverAnswers.js";

interface McpToolOptions {
  /** The name that the model calls. */
  readonly name: string;
  readonly tool: ListedTool;
  readonly server: AgentServer;
  readonly shorten: (text: string) => string;
}

/** A server's tool for the model. */
export function mcpTool({ name, tool, server, shorten }: McpToolOptions): DeclaredTool {
  return {
    name,
    declaration: declarationOf(name, tool),
    async *run(args, ctx): ToolRun {
      const read = parsedArguments(args, ctx);
      if ("complaint" in read) return { output: `err: ${read.complaint}` };
      const invocation = { server: server.name, tool: tool.name, arguments: read.value };
      return yield* shownCall(invocation, ctx, () => call(server, invocation, { ...ctx, shorten }));
    },
  };
}

function declarationOf(name: string, { description, inputSchema = {} }: ListedTool): Declaration {
  const { $schema: _, ...schema } = inputSchema;
  // The Responses API refuses a function whose parameters are not an object with properties.
  const parameters = { ...schema, type: "object", properties: schema["properties"] ?? {} };
  return { type: "function", name, description: description ?? "", strict: false, parameters };
}

/** Missing arguments are valid. */
function parsedArguments(
  args: string,
  { asRecorded }: Pick<ToolContext, "asRecorded">,
): { readonly value: unknown } | { readonly complaint: string } {
  if (args.trim() === "") return { value: null };
  try {
    const value = parseForeignJson(args);
    if (isNestedTooDeeply(value)) return { complaint: `the arguments are nested in more than ${MOST_LEVELS} levels` };
    return { value };
  } catch (error) {
    const fault = asRecorded ? readPlaces(args) : undefined;
    return { complaint: fault instanceof JsonFault ? `${fault.message} at ${lineAndColumn(args, fault.offset)}` : describe(error) };
  }
}

interface CallOptions extends Pick<ToolContext, "signal" | "asRecorded"> {
  readonly shorten: (text: string) => string;
}

async function call(server: AgentServer, invocation: McpInvocation, { signal, shorten, asRecorded }: CallOptions): Promise<CallEnd> {
  try {
    const params = { name: invocation.tool, ...argumentsOf(invocation) };
    const result = await server.request({ method: "tools/call", params, answer: CallResult }, { signal });
    return { result: { Ok: shownResult(result, { asRecorded }) }, answer: answerOf(result, { shorten, asRecorded }) };
  } catch (error) {
    signal.throwIfAborted();
    const Err = callFailureText(invocation, error, { asRecorded });
    return { result: { Err }, answer: failureAnswer(Err) };
  }
}

function argumentsOf({ arguments: value }: McpInvocation): { arguments?: Record<string, unknown> } {
  if (value === null) return {};
  if (!isFields(value)) throw new Error(`invalid type: ${unexpected(value)}, expected a map`);
  return { arguments: value };
}

/** In Codex's wording, with the causes below. */
function callFailureText({ server, tool }: McpInvocation, error: unknown, { asRecorded }: Pick<ToolContext, "asRecorded">): string {
  if (error instanceof McpServerNotStarted) return failureText("failed to get client", [`MCP startup failed: ${error.reason}`]);
  return failureText(`tool call failed for \`${server}/${tool}\``, causesOf(error, { asRecorded }));
}

function causesOf(error: unknown, { asRecorded }: Pick<ToolContext, "asRecorded">): readonly string[] {
  if (error instanceof McpTimedOut) return [describe(error), "deadline has elapsed"];
  return [asRecorded && error instanceof McpRequestFailed && error.isLost ? "tools/call failed: Transport closed" : describe(error)];
}

/** Several causes are numbered, the outermost first. */
function failureText(what: string, causes: readonly string[]): string {
  const lines = causes.map((cause, at) => `    ${causes.length > 1 ? `${at}: ` : ""}${cause}`);
  return `tool call error: ${what}\n\nCaused by:\n${lines.join("\n")}`;
}

interface CallEnd {
  readonly result: { readonly Ok: unknown } | { readonly Err: string };
  readonly answer: ToolResult;
}

/** Makes a call and yields its start and end events. An interrupted call has no end event. */
export async function* shownCall(
  invocation: McpInvocation,
  { callId, signal }: Pick<ToolContext, "callId" | "signal">,
  make: () => Promise<CallEnd>,
): ToolRun {
  yield [{ type: "mcpToolStarted", callId, invocation }];
  const startedAt = performance.now();
  const { result, answer } = await make();
  signal.throwIfAborted();
  yield [{ type: "mcpToolEnded", callId, invocation, durationMs: performance.now() - startedAt, result }];
  return answer;
}

/** A result as Codex writes it in events: the keys of content blocks are sorted, structured content is as it came. 0.92.0 left `_meta` out. */
function shownResult({ _meta, structuredContent, ...result }: CallResult, { asRecorded }: Pick<ToolContext, "asRecorded">): Fields {
  const structured = structuredContent === undefined || structuredContent === null ? {} : { structuredContent };
  return { ...result, content: result.content.map(sortedKeys), ...structured, ...(_meta !== undefined && !asRecorded && { _meta }) };
}

/** The result for the model: structured content if present, else the blocks, as JSON; images follow as images. */
function answerOf(result: CallResult, { shorten, asRecorded }: Pick<CallOptions, "shorten" | "asRecorded">): ToolResult {
  const { structuredContent, content } = result;
  if (structuredContent !== undefined && structuredContent !== null) return { output: shorten(JSON.stringify(structuredContent)) };
  const images = content.flatMap(imagesOf);
  if (asRecorded) {
    const output = shorten(JSON.stringify(content.map(sortedKeys)));
    const parts = content.flatMap(partOf);
    // With a block of another kind among them, Codex 0.92.0 sent all of them as JSON.
    return images.length > 0 && parts.length === content.length ? { output, parts } : { output };
  }
  const blocks = content.map((block) => sortedKeys(imagesOf(block).length > 0 ? { ...block, data: SHOWN_BELOW } : block));
  const output = shorten(JSON.stringify(blocks));
  return images.length === 0 ? { output } : { output, after: [{ type: "message", role: "user", content: images }] };
}

/** The failure text for the model. */
function failureAnswer(error: string): ToolResult {
  return { output: `err: ${JSON.stringify(error)}` };
}

const SHOWN_BELOW = "(the image follows)";

function imagesOf(block: Fields): Fields[] {
  const { type, data, mimeType } = block;
  if (type !== "image" || typeof data !== "string" || typeof mimeType !== "string") return [];
  return [{ type: "input_image", image_url: data.startsWith("data:") ? data : `data:${mimeType};base64,${data}` }];
}

function partOf(block: Fields): Fields[] {
  const { type, text } = block;
  return type === "text" && typeof text === "string" ? [{ type: "input_text", text }] : imagesOf(block);
}

export function sortedKeys(value: Fields): Fields {
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, isFields(inner) ? sortedKeys(inner) : inner]));
}
