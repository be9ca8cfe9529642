import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type ResponseStreamEvent,
  type ScriptedAnswer,
  ScriptedModel,
  type ScriptRequest,
} from "../../../src/engines/native/scripted/scriptedModel.js";
import { describe } from "../../../src/lib/errors.js";

/** A request to `/v1/responses` as it arrived. */
export interface RecordedRequest {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: ScriptRequest & Readonly<Record<string, unknown>>;
}

/** Overrides of the scripted answer; absent fields stay as scripted. */
export interface Override extends Partial<ScriptedAnswer> {
  readonly headers?: Readonly<Record<string, string>>;
  /** The stream's bytes instead of the events, for invalid and incomplete events. */
  readonly stream?: string;
}

export interface ResponsesServerOptions {
  /** Called for each request, with `index` from 0, to inject faults. */
  readonly respond?: (request: RecordedRequest, index: number, scripted: ScriptedAnswer) => Override | undefined;
  /** The models that it lists; it refuses others as OpenAI does. Without this it accepts every name. */
  readonly models?: () => readonly string[];
  /** False for long runs, in which keeping every request would distort the measurement. */
  readonly keepRequests?: boolean;
}

export interface ResponsesServer extends AsyncDisposable {
  /** The base URL for a provider's `base_url`. */
  readonly url: string;
  readonly requests: readonly RecordedRequest[];
  close(): Promise<void>;
}

function listOf(names: readonly string[]): unknown {
  return { object: "list", data: names.map((id) => ({ id, object: "model" })), models: [] };
}

function refusalOf(model: string): string {
  const message = `The model \`${model}\` does not exist or you do not have access to it.`;
  return JSON.stringify({ error: { message, type: "invalid_request_error", param: null, code: "model_not_found" } });
}

/** A Responses API on a free port of this machine whose model plays the script in the prompt. */
export async function startResponsesServer(options: ResponsesServerOptions = {}): Promise<ResponsesServer> {
  const model = new ScriptedModel();
  const requests: RecordedRequest[] = [];
  let asked = 0;

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (incoming.url ?? "").split("?")[0];
    if (path?.endsWith("/models")) return sendJson(response, 200, JSON.stringify(listOf(options.models?.() ?? ["mock-model"])));
    if (incoming.method !== "POST" || !path?.endsWith("/responses")) return sendJson(response, 404, "{}");
    const request = { url: incoming.url ?? "", headers: incoming.headers, body: await readJson(incoming) };
    if (options.keepRequests !== false) requests.push(request);
    if (options.models?.().includes(request.body.model) === false) return sendJson(response, 404, refusalOf(request.body.model));
    const scripted = model.answer(request.body);
    await send(response, { ...scripted, ...options.respond?.(request, asked++, scripted) });
  }

  const server = createServer((incoming, response) => {
    serve(incoming, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendJson(response, 400, JSON.stringify({ error: { message: describe(error) } }));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = () => closeServer(server);
  return { url: `http://127.0.0.1:${portOf(server)}/v1`, requests, close, [Symbol.asyncDispose]: close };
}

async function send(response: ServerResponse, answer: ScriptedAnswer & Override): Promise<void> {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  try {
    if (answer.delayMs > 0) await sleep(answer.delayMs, undefined, { signal: gone.signal });
    if (answer.status !== 200) return sendJson(response, answer.status, answer.body ?? "{}", answer.headers);
    response.writeHead(200, { "content-type": "text/event-stream", ...answer.headers });
    await sendStream(response, answer, gone.signal);
    if (answer.ending === "cut" && answer.pauseMs !== undefined) await sleep(answer.pauseMs, undefined, { signal: gone.signal });
    if (answer.ending === "end") response.end();
    if (answer.ending === "cut") response.destroy();
  } catch (error) {
    if (!gone.signal.aborted) throw error;
  }
}

async function sendStream(response: ServerResponse, answer: ScriptedAnswer & Override, gone: AbortSignal): Promise<void> {
  if (answer.stream !== undefined) return write(response, answer.stream, gone);
  if (answer.gapMs === 0 && answer.pauseMs === undefined) {
    // One HTTP chunk per event, as models send them: some clients are slow with hundreds of events in a chunk.
    await Promise.all(answer.events.map((event) => write(response, sseFrame(event), gone)));
    return;
  }
  for (const event of answer.events) {
    if (event.type === "response.failed" && answer.pauseMs !== undefined) await sleep(answer.pauseMs, undefined, { signal: gone });
    await write(response, sseFrame(event), gone);
    if (answer.gapMs > 0 && event.type.endsWith(".delta")) await sleep(answer.gapMs, undefined, { signal: gone });
  }
}

function sseFrame(event: ResponseStreamEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** Returns when the kernel has the bytes, so that a later cut of the connection does not drop them. */
async function write(response: ServerResponse, text: string, gone: AbortSignal): Promise<void> {
  gone.throwIfAborted();
  await new Promise<void>((resolve, reject) => response.write(text, (error) => (error ? reject(error) : resolve())));
}

function sendJson(response: ServerResponse, status: number, body: string, headers: Readonly<Record<string, string>> = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(body);
}

async function readJson(incoming: IncomingMessage): Promise<RecordedRequest["body"]> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk);
  const parsed: unknown = JSON.parse(Buffer.concat(chunks).toString());
  if (!isResponsesRequest(parsed)) throw new Error("A request of the Responses API needs model and input.");
  return parsed;
}

function isResponsesRequest(value: unknown): value is RecordedRequest["body"] {
  if (typeof value !== "object" || value === null) return false;
  const { model, input, tools = [] }: { model?: unknown; input?: unknown; tools?: unknown } = value;
  return typeof model === "string" && Array.isArray(input) && Array.isArray(tools);
}

function portOf(server: Server): number {
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the server has no port");
  return address.port;
}

async function closeServer(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
}
