import type { Client, StandardSchemaV1 } from "@modelcontextprotocol/client";
import { describe } from "../../../lib/errors.js";
import { maskSent } from "../model/failures.js";
import { McpLoginNeeded, McpRequestFailed } from "./failures.js";
import { NO_LIMIT_MS } from "./limits.js";
import type { ServerLink } from "./openLink.js";
import { allPages } from "./pages.js";
import { type ListedTool, ToolPage } from "./results.js";

/** A reason is for a person; some servers answer with a whole page. */
const LONGEST_REASON = 500;
const UNAUTHORIZED = 401;
/** The client's word for a connection that ended while somebody waited for an answer. */
const CLOSED = "CONNECTION_CLOSED";

export interface McpRequest<Schema extends StandardSchemaV1> {
  readonly method: string;
  readonly params?: Record<string, unknown>;
  readonly answer: Schema;
}

/** One conversation with a server. What fails is told in our words, without the secrets the server was given. */
export class Connection {
  constructor(
    private readonly client: Client,
    private readonly link: ServerLink,
  ) {}

  /** Nothing will come from the server any more. */
  get lost(): boolean {
    return this.link.transport.lostBecause !== undefined;
  }

  get hasResources(): boolean {
    return this.client.getServerCapabilities()?.resources !== undefined;
  }

  async shakeHands(signal: AbortSignal): Promise<void> {
    try {
      await this.client.connect(this.link.transport, { signal, timeout: NO_LIMIT_MS });
    } catch (error) {
      throw this.#failure("handshaking with MCP server", error);
    }
  }

  async listTools(signal: AbortSignal): Promise<readonly ListedTool[]> {
    if (!this.client.getServerCapabilities()?.tools) return [];
    return allPages("tools/list", async (params) => {
      const { tools, nextCursor } = await this.request({ method: "tools/list", params, answer: ToolPage }, signal);
      return { entries: tools, nextCursor };
    });
  }

  /** Aborting the signal tells the server that nobody waits any more. */
  async request<Schema extends StandardSchemaV1>(
    { method, params = {}, answer }: McpRequest<Schema>,
    signal: AbortSignal,
  ): Promise<StandardSchemaV1.InferOutput<Schema>> {
    try {
      return await this.client.request({ method, params }, answer, { signal, timeout: NO_LIMIT_MS });
    } catch (error) {
      throw this.#failure(method, error);
    }
  }

  /** Resolves when nothing of the server is left here. */
  async close(): Promise<void> {
    await this.link.transport.close();
  }

  #failure(what: string, error: unknown): Error {
    if (fieldOf(error, "status") === UNAUTHORIZED) return new McpLoginNeeded("Auth required", { cause: error });
    const reason = maskSent(reasonOf(error, this.link.transport), this.link.secrets, this.link.url).slice(0, LONGEST_REASON);
    return new McpRequestFailed(`${what} failed: ${reason}`, { cause: error });
  }
}

function reasonOf(error: unknown, { lostBecause, lastWords }: ServerLink["transport"]): string {
  const code = fieldOf(error, "code");
  const status = fieldOf(error, "status");
  // Numbers are what a server answered; the client's own codes are words.
  if (typeof code === "number") return `Mcp error: ${code}: ${describe(error)}`;
  if (typeof status === "number") return `HTTP ${status}: ${describe(error)}`;
  if (code !== CLOSED || lostBecause === undefined) return describe(error);
  return `connection closed: ${lostBecause}${lastWords === undefined ? "" : `: ${lastWords}`}`;
}

function fieldOf(error: unknown, name: "code" | "status"): unknown {
  return error instanceof Error && name in error ? Reflect.get(error, name) : undefined;
}
