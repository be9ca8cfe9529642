import type { Agent, Ask } from "../../agent/agent.js";
import { AppError } from "../../lib/errors.js";
import type { ThreadId, TurnId } from "../../lib/ids.js";
import type { Turn } from "../../threads/turn.js";
import { type CallToolResult, failureOn } from "../wording/callResult.js";
import { type CodexWording, parseArguments } from "./arguments.js";
import { type InputSchema, schemaOf, type ToolArguments, type ValuesOf } from "./schema.js";

/** The sets that `--tools` can name; what they are is in sets.ts. */
export type ToolSetName = "codex" | "codex-original";

/** A tool as `tools/list` shows it. */
export interface ToolDeclaration {
  readonly annotations?: ToolAnnotations;
  readonly description: string;
  readonly inputSchema: unknown;
  readonly name: string;
  readonly outputSchema?: unknown;
  readonly title: string;
}

/** What a client may want to know before it lets a model call a tool. */
export interface ToolAnnotations {
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
}

export interface OutputSchema {
  readonly properties: Readonly<Record<string, { readonly type: string }>>;
  readonly required: readonly string[];
  readonly type: "object";
}

/** What a turn's answer looks like to programs. */
export const TURN_OUTPUT: OutputSchema = {
  properties: { threadId: { type: "string" }, content: { type: "string" } },
  required: ["threadId", "content"],
  type: "object",
};

/** The answer to a call is what becomes of a turn. Each era of MCP follows the turn in its own way. */
export interface TurnAnswer {
  readonly turn: Turn;
  /** The answer, when the turn completes without a word. */
  readonly ifSilent?: string | undefined;
}

export interface McpToolContext {
  readonly agent: Agent;
  /** Who calls, to be passed to the agent. */
  readonly ask: Ask;
  /** What the first turn of a thread is called that the call opens. */
  readonly turnId: TurnId;
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
  /** The sets that it is in. */
  readonly sets: readonly ToolSetName[];
  /** Where it stands in the list: lower numbers first, then by name. */
  readonly order: number;
  /** For calls from inside a turn too. Such a tool starts nothing, changes nothing and tells nothing that is somebody's. */
  readonly servedInside?: true;
  /** Complaints are worded as Codex words them; otherwise they name the tool and the argument. */
  readonly wording?: CodexWording;
  /** What comes back, in a line of docs/tools.md. */
  readonly answers: string;
  /** Arguments that a call could have, for the documentation and the fuzzer. */
  readonly example: Readonly<Record<string, unknown>>;
  /** What goes wrong in a way that was foreseen is an `AppError`; the caller gets it as an `isError` result. */
  readonly call: (args: ValuesOf<A>, context: McpToolContext) => Promise<CallToolResult | TurnAnswer>;
}

export interface McpTool extends Omit<ToolDefinition<ToolArguments>, "call" | "input"> {
  readonly inputSchema: InputSchema;
  /** Checks the arguments first. */
  readonly call: (args: unknown, context: McpToolContext) => Promise<CallToolResult | TurnAnswer>;
}

export function defineTool<const A extends ToolArguments>({ input, call, ...tool }: ToolDefinition<A>): McpTool {
  const schema = schemaOf(input);
  return {
    ...tool,
    inputSchema: schema,
    call: async (args, context) => call(parseArguments<A>(args, { schema, tool: tool.name, wording: tool.wording }), context),
  };
}

/** The tool as clients see it; keys in the order in which Codex writes them. */
export function declarationOf({ annotations, description, inputSchema, name, output, title }: McpTool): ToolDeclaration {
  return { ...(annotations && { annotations }), description, inputSchema, name, ...(output && { outputSchema: output }), title };
}

/** What goes wrong on a thread that the caller named is told with the thread's id, so that a program can go on there. */
export async function onThread(threadId: ThreadId, begin: () => Promise<TurnAnswer>): Promise<CallToolResult | TurnAnswer> {
  try {
    return await begin();
  } catch (error) {
    if (error instanceof AppError) return failureOn(threadId, error);
    throw error;
  }
}
