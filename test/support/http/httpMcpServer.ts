import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { CallToolRequestSchema, type CallToolResult, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { bodyOf, startLoopback } from "./loopback.js";

/** A real MCP server on HTTP, made with the official package, with sessions. */
export interface HttpMcpServer extends AsyncDisposable {
  readonly url: string;
  /** Each request so far: its method, its path and the MCP method in its body, if any. */
  readonly requests: readonly string[];
  /** The headers of the last request. */
  readonly headers: IncomingMessage["headers"];
  readonly openSessions: number;
  /** As after a restart. */
  forgetSessions(): void;
}

export interface HttpMcpOptions {
  /** Answers in JSON instead of a stream. */
  readonly json?: boolean;
  readonly tools: Readonly<Record<string, HttpTool>>;
  /** Answers a request itself, if it returns true. */
  readonly intercept?: (request: IncomingMessage & { readonly mcpMethod: string | undefined }, response: ServerResponse) => boolean;
}

export interface HttpToolCall {
  readonly server: Server;
  readonly signal: AbortSignal;
}

export type HttpTool = (call: HttpToolCall) => Promise<CallToolResult> | CallToolResult;

export async function startHttpMcpServer({ json = false, tools, intercept = () => false }: HttpMcpOptions): Promise<HttpMcpServer> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const requests: string[] = [];
  let headers: IncomingMessage["headers"] = {};

  const openSession = async (): Promise<StreamableHTTPServerTransport> => {
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: json,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await serverWith(tools).connect(transport);
    return transport;
  };

  const loopback = await startLoopback(async (request, response) => {
    headers = request.headers;
    const text = await bodyOf(request);
    const message: { method?: string } | undefined = text === "" ? undefined : JSON.parse(text);
    requests.push([request.method, request.url, message?.method].filter(Boolean).join(" "));
    if (intercept(Object.assign(request, { mcpMethod: message?.method }), response)) return;
    const known = sessions.get(String(request.headers["mcp-session-id"]));
    const transport = known ?? (message?.method === "initialize" ? await openSession() : undefined);
    if (transport) await transport.handleRequest(request, response, message);
    else response.writeHead(404).end("no such session");
  });

  return {
    url: `${loopback.origin}/mcp`,
    requests,
    get headers() {
      return headers;
    },
    get openSessions() {
      return sessions.size;
    },
    forgetSessions: () => sessions.clear(),
    [Symbol.asyncDispose]: () => loopback[Symbol.asyncDispose](),
  };
}

function serverWith(tools: HttpMcpOptions["tools"]): Server {
  const server = new Server({ name: "web", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: Object.keys(tools).map((name) => ({ name, inputSchema: { type: "object" as const } })),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal }) => {
    const tool = tools[params.name];
    if (!tool) throw new Error("unknown tool");
    return tool({ server, signal });
  });
  return server;
}
