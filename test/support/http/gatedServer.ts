import { once } from "node:events";
import { type IncomingHttpHeaders, type IncomingMessage, request as send } from "node:http";
import { type AccessControl, type AccessControlOptions, openAccessControl } from "../../../src/http/accessControl.js";
import { rpcProblemText } from "../../../src/mcp/over/network/problems.js";
import { MCP_CORS_HEADERS, MCP_PATH } from "../../../src/mcp/over/streamableHttp/endpoint.js";
import { SCOPE_WORDS } from "../../../src/server/network.js";
import { bodyOf, startLoopback } from "./loopback.js";

/** A server with only access control: it answers with the identity of the caller. */
export interface GatedServer extends AsyncDisposable {
  readonly access: AccessControl;
  readonly port: number;
  readonly reports: readonly string[];
  ask(question?: Question): Promise<Reply>;
}

export interface Question {
  readonly method?: string;
  readonly path?: string;
  /** In pairs, as on the wire; `Host` is the server's own unless given. */
  readonly headers?: readonly (readonly [string, string])[];
  /** The local address from which the request is sent. */
  readonly from?: string;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

export async function startGated(options: Partial<AccessControlOptions> = {}): Promise<GatedServer> {
  const reports: string[] = [];
  const access = await openAccessControl({
    host: "127.0.0.1",
    tellsUsers: true,
    scopes: SCOPE_WORDS,
    resourcePath: MCP_PATH,
    corsHeaders: MCP_CORS_HEADERS,
    problemText: rpcProblemText,
    report: (line) => reports.push(line),
    ...options,
  });
  const server = await startLoopback(async (request, response) => {
    const admission = await access.admit(request);
    const { status, headers, body } =
      "answer" in admission ? admission.answer : { status: 200, headers: admission.headers, body: JSON.stringify(admission.identity) };
    response.writeHead(status, headers).end(body);
  });
  const port = Number(new URL(server.origin).port);
  return {
    access,
    port,
    reports,
    ask: (question = {}) => ask(port, question),
    async [Symbol.asyncDispose]() {
      await access.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

export function bearer(token: string): Question {
  return { headers: [["authorization", `Bearer ${token}`]] };
}

async function ask(port: number, { method = "GET", path = "/mcp", headers = [], from }: Question): Promise<Reply> {
  const hasHost = headers.some(([name]) => name.toLowerCase() === "host");
  const request = send({
    host: "127.0.0.1",
    port,
    method,
    path,
    setHost: false,
    agent: false,
    // Pairs in one list are sent unchanged, duplicates included.
    headers: [...(hasHost ? [] : [["host", `127.0.0.1:${port}`] as const]), ...headers].flat(),
    ...(from === undefined ? {} : { localAddress: from }),
  });
  request.end();
  const [response]: IncomingMessage[] = await once(request, "response");
  if (response === undefined) throw new Error("no response");
  const text = await bodyOf(response);
  return { status: response.statusCode ?? 0, headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
}
