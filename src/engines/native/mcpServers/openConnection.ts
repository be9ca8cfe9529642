import { VERSION } from "../../../lib/version.js";
import type { McpServerSettings } from "../../../threads/settings.js";
import { Connection } from "./connection.js";
import { Deadline, withinLimit } from "./deadline.js";
import { durationText } from "./failures.js";
import { type LinkOptions, openLink } from "./openLink.js";
import type { Questions } from "./questions.js";
import type { ListedTool } from "./results.js";

/** Under this name servers know Codex; some treat it specially. */
const IDENTITY = { name: "codex-mcp-client", title: "Codex", version: VERSION };

export interface ConnectionOptions extends LinkOptions {
  readonly questions: Questions;
}

export interface OpenConnection {
  readonly connection: Connection;
  readonly tools: readonly ListedTool[];
}

/** Starts or calls the server, shakes hands and learns its tools. When that fails, nothing is left of it. */
export async function openConnection(settings: McpServerSettings, options: ConnectionOptions): Promise<OpenConnection> {
  const { name, startupTimeoutMs } = settings;
  if (!/^[a-zA-Z0-9_-]+$/.test(name)) throw new Error(`Invalid MCP server name '${name}': must match pattern ^[a-zA-Z0-9_-]+$`);
  const link = await openLink(settings, options);
  try {
    // A program comes up while this is loaded.
    const { Client } = await import("./sdk.js");
    const client = new Client(IDENTITY, { capabilities: { elicitation: {} } });
    client.setRequestHandler("elicitation/create", async ({ params }, { mcpReq }) => {
      if (!("requestedSchema" in params)) return { action: "decline" };
      const { message, requestedSchema } = params;
      return options.questions.ask({ server: name, message, requestedSchema }, mcpReq.signal);
    });
    const connection = new Connection(client, link);
    const step = startupStep(startupTimeoutMs, options.signal);
    await step("handshaking with MCP server", (ends) => connection.shakeHands(ends));
    const tools = await step("awaiting tools/list", (ends) => connection.listTools(ends));
    return { connection, tools };
  } catch (error) {
    await link.transport.close();
    throw error;
  }
}

/** Each step of a start may take the whole time. */
function startupStep(limitMs: number, signal: AbortSignal) {
  return async <T>(what: string, work: (ends: AbortSignal) => Promise<T>): Promise<T> => {
    using limit = new Deadline(limitMs);
    return await withinLimit(limit, { signal, late: `timed out ${what} after ${durationText(limitMs)}` }, work);
  };
}
