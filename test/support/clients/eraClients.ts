import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2, type VersionNegotiationOptions } from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { SocketTransport } from "../http/socketTransport.js";
import { MAIN } from "../processes/mcpServer.js";
import { type Stage, stageEnvironment } from "../stage.js";

type Json = Record<string, unknown>;

/** How to reach a server: as a process of the client, or at an address. */
export type Place = { readonly stage: Stage } | { readonly origin: string; readonly over: "http" | "websocket" };

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly onprogress?: (progress: { progress: number; message?: string | undefined }) => void;
}

/** An official client that gives every question the same answer. */
export interface EraClient extends AsyncDisposable {
  /** The questions it received. */
  readonly questions: string[];
  /** Errors that its library reported. */
  readonly complaints: string[];
  readonly revision: string | undefined;
  call(tool: string, args: Json, options?: CallOptions): Promise<unknown>;
}

type Answer = { readonly action: "accept"; readonly content: { readonly decision: string; readonly reason?: string } };
type Connect = (place: Place, answer: Answer) => Promise<EraClient>;

const IDENTITY = { name: "official-client", version: "1.0.0" };
const CAPABILITIES = { capabilities: { elicitation: {} } };
const PATIENCE = { timeout: 30_000 };

async function connectV1(place: Place, answer: Answer): Promise<EraClient> {
  const client = new ClientV1(IDENTITY, CAPABILITIES);
  const [questions, complaints]: [string[], string[]] = [[], []];
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- this client is not an event target and has only the property
  client.onerror = ({ message }) => complaints.push(message);
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    questions.push(params.message);
    return { ...answer, content: { ...answer.content } };
  });
  const transport =
    "stage" in place
      ? new StdioV1(program(place.stage))
      : place.over === "http"
        ? new HttpV1(mcp(place.origin))
        : new SocketTransport(place.origin);
  await client.connect(transport);
  return {
    questions,
    complaints,
    revision: "2025-11-25",
    call: (name, args, options) => client.callTool({ name, arguments: args }, undefined, { ...PATIENCE, ...options }),
    async [Symbol.asyncDispose]() {
      if (transport instanceof HttpV1) await transport.terminateSession();
      await client.close();
    },
  };
}

function connectV2(versionNegotiation?: VersionNegotiationOptions): Connect {
  return async (place, answer) => {
    const client = new ClientV2(IDENTITY, { ...CAPABILITIES, ...(versionNegotiation ? { versionNegotiation } : {}) });
    const [questions, complaints]: [string[], string[]] = [[], []];
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- this client is not an event target and has only the property
    client.onerror = ({ message }) => complaints.push(message);
    client.setRequestHandler("elicitation/create", ({ params }) => {
      questions.push(params.message);
      return { ...answer, content: { ...answer.content } };
    });
    const transport =
      "stage" in place
        ? new StdioV2(program(place.stage))
        : place.over === "http"
          ? new HttpV2(mcp(place.origin))
          : new SocketTransport(place.origin);
    await client.connect(transport);
    return {
      questions,
      complaints,
      revision: client.getNegotiatedProtocolVersion(),
      call: (name, args, options) => client.callTool({ name, arguments: args }, { ...PATIENCE, ...options }),
      async [Symbol.asyncDispose]() {
        if (transport instanceof HttpV2) await transport.terminateSession();
        await client.close();
      },
    };
  };
}

function mcp(origin: string): URL {
  return new URL(`${origin}/mcp`);
}

function program(stage: Stage) {
  const env = stageEnvironment(stage, { name: "", about: "", steps: [] }, {});
  return { command: process.execPath, args: [MAIN, "--engine", "scripted"], cwd: stage.workspace, env, stderr: "ignore" as const };
}

/** Every way in which the official clients choose an era, and the era that they choose. */
export const ERA_CLIENTS: readonly { readonly name: string; readonly revision: string; readonly connect: Connect }[] = [
  { name: "SDK 1.x", revision: "2025-11-25", connect: connectV1 },
  { name: "SDK 2.x", revision: "2025-11-25", connect: connectV2() },
  { name: "SDK 2.x, automatic", revision: "2026-07-28", connect: connectV2({ mode: "auto" }) },
  { name: "SDK 2.x, pinned to 2026-07-28", revision: "2026-07-28", connect: connectV2({ mode: { pin: "2026-07-28" } }) },
];
