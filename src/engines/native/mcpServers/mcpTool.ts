import { describe } from "../../../lib/errors.js";
import { isFields } from "../../../lib/fields.js";
import type { McpInvocation } from "../../../threads/items.js";
import type { Declaration, DeclaredTool, ToolRun } from "../tools/tool.js";
import { answerOf, failureAnswer, shownResult } from "./callOutput.js";
import { McpServerNotStarted } from "./failures.js";
import { CallResult, type ListedTool } from "./results.js";
import type { McpServer } from "./server.js";
import { type CallEnd, shownCall } from "./shownCall.js";

export interface McpToolOptions {
  /** As the model calls it. */
  readonly name: string;
  readonly tool: ListedTool;
  readonly server: McpServer;
  readonly shorten: (text: string) => string;
}

/** A server's tool, as the model may call it. */
export function mcpTool({ name, tool, server, shorten }: McpToolOptions): DeclaredTool {
  return {
    name,
    declaration: declarationOf(name, tool),
    async *run(args, ctx): ToolRun {
      const read = readArguments(args);
      if ("complaint" in read) return { output: `err: ${read.complaint}` };
      const invocation = { server: server.name, tool: tool.name, arguments: read.value };
      return yield* shownCall(invocation, ctx, () => call(server, invocation, { signal: ctx.signal, shorten }));
    },
  };
}

function declarationOf(name: string, { description, inputSchema = {} }: ListedTool): Declaration {
  const { $schema: _, ...schema } = inputSchema;
  // The Responses API refuses a function whose parameters are no object with properties.
  const parameters = { ...schema, type: "object", properties: schema["properties"] ?? {} };
  return { type: "function", name, description: description ?? "", strict: false, parameters };
}

/** No arguments at all are fine. */
function readArguments(args: string): { readonly value: unknown } | { readonly complaint: string } {
  if (args.trim() === "") return { value: null };
  try {
    return { value: JSON.parse(args) };
  } catch (error) {
    return { complaint: describe(error) };
  }
}

interface CallOptions {
  readonly signal: AbortSignal;
  readonly shorten: (text: string) => string;
}

async function call(server: McpServer, invocation: McpInvocation, { signal, shorten }: CallOptions): Promise<CallEnd> {
  try {
    const params = { name: invocation.tool, ...argumentsOf(invocation) };
    const result = await server.request({ method: "tools/call", params, answer: CallResult }, { signal });
    return { result: { Ok: shownResult(result) }, answer: answerOf(result, shorten) };
  } catch (error) {
    signal.throwIfAborted();
    const Err = failureText(invocation, error);
    return { result: { Err }, answer: failureAnswer(Err) };
  }
}

function argumentsOf({ arguments: value }: McpInvocation): { arguments?: Record<string, unknown> } {
  if (value === null) return {};
  if (!isFields(value)) throw new Error(`MCP tool arguments must be a JSON object, got ${JSON.stringify(value)}`);
  return { arguments: value };
}

/** As Codex words it, with the cause below. */
function failureText({ server, tool }: McpInvocation, error: unknown): string {
  const [what, cause] =
    error instanceof McpServerNotStarted
      ? ["failed to get client", `MCP startup failed: ${error.reason}`]
      : [`tool call failed for \`${server}/${tool}\``, describe(error)];
  return `tool call error: ${what}\n\nCaused by:\n    ${cause}`;
}
