import { Client as ClientV2 } from "@modelcontextprotocol/client";
import { StdioClientTransport as StdioV2 } from "@modelcontextprotocol/client/stdio";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport as StdioV1 } from "@modelcontextprotocol/sdk/client/stdio.js";

export interface CallOptions {
  readonly onprogress?: (progress: { progress: number; message?: string | undefined }) => void;
  readonly signal?: AbortSignal;
}

/** One server process and a client of the official SDK that talks to it. */
export interface Connection extends AsyncDisposable {
  readonly client: ClientV1 | ClientV2;
  readonly pid: number | null;
  /** The parameters of every `codex/event` so far. */
  readonly events: unknown[];
  /** Errors that the client reported. */
  readonly complaints: string[];
  call(name: string, args: Record<string, unknown>, options?: CallOptions): Promise<unknown>;
}

export interface ServerProgram {
  readonly command: string;
  readonly args: string[];
  readonly cwd: string;
  readonly env: Record<string, string>;
}

const IDENTITY = { name: "official-client", version: "1.0.0" };

async function connectV1(program: ServerProgram): Promise<Connection> {
  const client = new ClientV1(IDENTITY);
  const transport = new StdioV1({ ...program, stderr: "ignore" });
  const seen = observe(client);
  await client.connect(transport);
  return {
    ...seen,
    client,
    get pid() {
      return transport.pid;
    },
    call: (name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

async function connectV2(program: ServerProgram): Promise<Connection> {
  const client = new ClientV2(IDENTITY);
  const transport = new StdioV2({ ...program, stderr: "ignore" });
  const seen = observe(client);
  await client.connect(transport);
  return {
    ...seen,
    client,
    get pid() {
      return transport.pid;
    },
    call: (name, args, options) => client.callTool({ name, arguments: args }, options),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

function observe(client: ClientV1 | ClientV2): Pick<Connection, "events" | "complaints"> {
  const events: unknown[] = [];
  const complaints: string[] = [];
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- this client is not an event target and has only the property
  client.onerror = ({ message }) => complaints.push(message);
  client.fallbackNotificationHandler = async ({ method, params }: { method: string; params?: unknown }) => {
    if (method === "codex/event") events.push(params);
  };
  return { events, complaints };
}

/** The official clients, each with a handshake. `eraClients.ts` has them for both eras. */
export const OFFICIAL_CLIENTS: Readonly<Record<string, (program: ServerProgram) => Promise<Connection>>> = {
  "TypeScript SDK 1.x": connectV1,
  "TypeScript SDK 2.x": connectV2,
};
