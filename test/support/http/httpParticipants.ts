import { spawn } from "node:child_process";
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as HttpV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { createParser } from "eventsource-parser";
import { eventually } from "../eventually.js";
import { runToEnd } from "../processes/runToEnd.js";
import { isRecord } from "../scenarios/scenario.js";
import { handshake, rpc } from "./httpClient.js";
import { type BreakableWay, breakableWayTo } from "./httpProxy.js";

type Json = Record<string, unknown>;

export interface ParticipantCall {
  readonly onprogress?: (progress: { progress: number; message?: string | undefined }) => void;
  readonly signal?: AbortSignal;
}

/** A real client of one kind. It approves every question, and its network can break. */
export interface Participant extends AsyncDisposable {
  /** The parameters of every `codex/event` that it received. */
  readonly events: unknown[];
  /** Errors that its library reported, except broken connections. */
  readonly complaints: string[];
  /** The questions it received. */
  readonly questions: string[];
  call(tool: string, args: Json, options?: ParticipantCall): Promise<unknown>;
  breakNetwork(): void;
}

const IDENTITY = { name: "participant", version: "1.0.0" };
const CAPABILITIES = { capabilities: { elicitation: {} } };
const ACCEPTED = { action: "accept", content: { decision: "approved" } } as const;
/** The tests break streams on purpose. */
const BROKEN = /SSE stream disconnected|fetch failed/;
const SOON = {
  reconnectionOptions: { initialReconnectionDelay: 20, maxReconnectionDelay: 200, reconnectionDelayGrowFactor: 2, maxRetries: 50 },
};
const MINUTES = { timeout: 120_000 };

export async function joinWithV1(port: number): Promise<Participant> {
  const way = await breakableWayTo(port);
  const client = new ClientV1(IDENTITY, CAPABILITIES);
  const seen = observe(client);
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    seen.questions.push(params.message);
    return ACCEPTED;
  });
  const transport = new HttpV1(new URL(`${way.origin}/mcp`), SOON);
  await client.connect(transport);
  const call: Participant["call"] = (name, args, options) =>
    client.callTool({ name, arguments: args }, undefined, { ...MINUTES, ...options });
  return { ...seen, call, breakNetwork: () => way.cut(), [Symbol.asyncDispose]: () => leave(client, way) };
}

export async function joinWithV2(port: number, versionNegotiation?: { mode: "auto" }): Promise<Participant> {
  const way = await breakableWayTo(port);
  const client = new ClientV2(IDENTITY, { ...CAPABILITIES, ...(versionNegotiation ? { versionNegotiation } : {}) });
  const seen = observe(client);
  client.setRequestHandler("elicitation/create", ({ params }) => {
    seen.questions.push(params.message);
    return ACCEPTED;
  });
  await client.connect(new HttpV2(new URL(`${way.origin}/mcp`), SOON));
  const call: Participant["call"] = (name, args, options) => client.callTool({ name, arguments: args }, { ...MINUTES, ...options });
  return { ...seen, call, breakNetwork: () => way.cut(), [Symbol.asyncDispose]: () => leave(client, way) };
}

async function leave(client: ClientV1 | ClientV2, way: BreakableWay): Promise<void> {
  await client.close();
  await way[Symbol.asyncDispose]();
}

function observe(client: ClientV1 | ClientV2): Pick<Participant, "events" | "complaints" | "questions"> {
  const events: unknown[] = [];
  const complaints: string[] = [];
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- this client is not an event target and has only the property
  client.onerror = ({ message }) => {
    if (!BROKEN.test(message)) complaints.push(message);
  };
  client.fallbackNotificationHandler = async ({ method, params }: { method: string; params?: unknown }) => {
    if (method === "codex/event") events.push(params);
  };
  return { events, complaints, questions: [] };
}

/** curl, with one process for the stream and one for every message. */
export async function joinWithCurl(port: number): Promise<Participant> {
  const way = await breakableWayTo(port);
  const curl = new CurlClient(way);
  await curl.open();
  return {
    events: curl.events,
    complaints: [],
    questions: curl.questions,
    call: (tool, args, options) => curl.call(tool, args, options),
    breakNetwork: () => way.cut(),
    async [Symbol.asyncDispose]() {
      curl.close();
      await way[Symbol.asyncDispose]();
    },
  };
}

class CurlClient {
  readonly events: unknown[] = [];
  readonly questions: string[] = [];
  readonly #answers = new Map<unknown, Json>();
  readonly #progress = new Map<unknown, NonNullable<ParticipantCall["onprogress"]>>();
  readonly #session = `curl-${process.pid}-${Date.now()}`;
  #lastEventId: string | undefined;
  #lastId = 0;
  #stream: ReturnType<typeof spawn> | undefined;
  #open = true;

  constructor(private readonly way: BreakableWay) {}

  async open(): Promise<void> {
    await this.#post(handshake(0, CAPABILITIES));
    this.#listen();
  }

  async call(name: string, args: Json, { onprogress, signal }: ParticipantCall = {}): Promise<unknown> {
    const id = ++this.#lastId;
    if (onprogress) this.#progress.set(id, onprogress);
    signal?.addEventListener(
      "abort",
      () => void this.#post({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } }),
    );
    const meta = onprogress ? { _meta: { progressToken: id } } : {};
    // A broken POST is not sent again: the answer is also on the stream.
    await this.#post(rpc(id, "tools/call", { name, arguments: args, ...meta }));
    const { result } = await eventually(`answer to ${id}`, () => this.#answers.get(id));
    return result;
  }

  close(): void {
    this.#open = false;
    this.#stream?.kill();
  }

  async #post(message: unknown): Promise<void> {
    const headers = ["-H", "Content-Type: application/json", "-H", `mcp-session-id: ${this.#session}`];
    await runToEnd(["curl", "-s", "-X", "POST", ...headers, "-d", JSON.stringify(message), `${this.way.origin}/mcp`]);
  }

  #listen(): void {
    const resume = this.#lastEventId === undefined ? [] : ["-H", `Last-Event-ID: ${this.#lastEventId}`];
    const child = spawn("curl", ["-sN", "-H", `mcp-session-id: ${this.#session}`, ...resume, `${this.way.origin}/mcp`], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    this.#stream = child;
    const parser = createParser({
      onEvent: ({ id, data }) => {
        this.#lastEventId = id;
        this.#take(JSON.parse(data) as Json);
      },
    });
    child.stdout.setEncoding("utf8").on("data", (text: string) => parser.feed(text));
    child.once("close", () => {
      if (this.#open) this.#listen();
    });
  }

  #take(message: Json): void {
    const { id, method, params } = message;
    const given = isRecord(params) ? params : {};
    if (method === "codex/event") this.events.push(params);
    else if (method === "notifications/progress")
      this.#progress.get(given["progressToken"])?.({ progress: Number(given["progress"]), message: String(given["message"]) });
    else if (method === "elicitation/create") {
      this.questions.push(String(given["message"]));
      void this.#post({ jsonrpc: "2.0", id, result: ACCEPTED });
    } else if (method === undefined) this.#answers.set(id, message);
  }
}
