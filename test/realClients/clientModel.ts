import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { DIALECTS, type Dialect, type ModelAnswer, type ModelReply, type OfferedTool, type PassedResult } from "./dialects.js";

type Json = Readonly<Record<string, unknown>>;

/** A call of one of our tools by the model. */
export interface PlannedCall {
  readonly tool: string;
  readonly args: Json;
}

/** The model's next step, given the results so far; undefined if it is finished. */
export type Script = (results: readonly string[]) => PlannedCall | undefined;

/** Without a limit, a model that never finishes would keep its client running. */
const MOST_CALLS = 40;
/** Ids of calls, by which their results are recognized. */
const CALL_ID = /call_(\d+)_/;
const SEARCH_ID = "find_";

/**
 * The model of a client under test. It plays a script, speaks the client's API, and records what the client passes on: the tools, and the
 * text of each result when it first appears, since clients shorten old ones.
 */
export class ClientModel implements AsyncDisposable {
  readonly #server = createServer((request, response) => this.#serve(request, response));
  readonly #offered = new Set<string>();
  /** Tools that a search returned; some clients call those through a tool of their own. */
  readonly #found = new Set<string>();
  #script: Script = () => undefined;
  #results: string[] = [];
  #calls = 0;

  async listen(): Promise<string> {
    await new Promise<void>((done) => this.#server.listen(0, "127.0.0.1", done));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  play(script: Script): void {
    this.#script = script;
    this.#results = [];
    this.#calls = 0;
    this.#offered.clear();
    this.#found.clear();
  }

  /** The names of our tools as the client offered them. */
  get offered(): readonly string[] {
    return [...this.#offered];
  }

  get results(): readonly string[] {
    return this.#results;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const path = request.url ?? "";
      const asks = request.method === "POST" && !/count_?tokens/i.test(path);
      const dialect = asks ? DIALECTS.find((one) => one.path.test(path)) : undefined;
      if (!dialect) return answerOther(path, response);
      const body = JSON.parse(Buffer.concat(parts).toString() || "{}") as Json;
      send(response, dialect.reply(body, this.#answer(dialect, body), path));
    });
  }

  #answer(dialect: Dialect, body: Json): ModelAnswer {
    const tools = dialect.tools(body);
    // Requests for titles, summaries and the like have no tools.
    if (tools.length === 0) return { say: "Fine." };
    for (const { name, namespace } of tools) if (isOurs(name) || isOurs(namespace ?? "")) this.#offered.add(name);
    this.#note(dialect.results(body));
    const next = this.#script(this.#results);
    if (!next || this.#calls >= MOST_CALLS) return { say: "Done." };
    this.#calls += 1;
    return callOf(next, { tools, found: [...this.#found], step: this.#results.length, serial: this.#calls });
  }

  #note(passed: readonly PassedResult[]): void {
    const searches = passed.filter(({ id }) => id.includes(SEARCH_ID));
    for (const { text } of searches) for (const [, name = ""] of text.matchAll(/"name": ?"([^"]+)"/g)) this.#found.add(name);
    const own = passed.filter((result) => !searches.includes(result));
    for (const [place, { id, text }] of own.entries()) {
      const step = Number(CALL_ID.exec(id)?.[1] ?? place);
      if (step === this.#results.length) this.#results.push(text);
    }
  }
}

function isOurs(name: string): boolean {
  return /(^|[^a-z])codex/.test(name);
}

interface Moment {
  readonly tools: readonly OfferedTool[];
  readonly found: readonly string[];
  readonly step: number;
  readonly serial: number;
}

function callOf({ tool, args }: PlannedCall, { tools, found, step, serial }: Moment): ModelAnswer {
  const id = `call_${step}_${serial}`;
  const offered = tools.find(({ name }) => isTool(name, tool));
  if (offered) return { call: { id, args, name: offered.name, ...(offered.namespace !== undefined && { namespace: offered.namespace }) } };
  // Clients that hide tools offer a search for them. The tools found are then offered directly, or called through another tool.
  const [bridge, hidden] = [tools.find(({ name }) => name === "tool_call"), found.find((name) => isTool(name, tool))];
  if (bridge && hidden !== undefined) return { call: { id, name: bridge.name, args: { name: hidden, arguments: args } } };
  const search = tools.find(({ name }) => /^(ToolSearch|tool_search)/.test(name));
  if (!search) return { say: `There is no tool ${tool}.` };
  const query = search.type === "tool_search" ? `codex ${tool}` : `select:mcp__codex__${tool}`;
  return { call: { id: `${SEARCH_ID}${serial}`, name: search.name, args: { query }, search: search.type === "tool_search" } };
}

/** `codex` is neither `codex-reply` nor `mcp__codex__codex-reply`. Some clients write `_` for `-`. */
function isTool(name: string, tool: string): boolean {
  const plain = name.replaceAll("-", "_").replace(/^mcp_+codex_+|^codex__|^codex_(?=codex)/, "");
  return plain === tool.replaceAll("-", "_");
}

function answerOther(path: string, response: ServerResponse): void {
  const tokens = { input_tokens: 10, totalTokens: 10 };
  const models = { object: "list", data: [{ id: "mock-model", object: "model", created: 1, owned_by: "test" }], models: [] };
  const known = /count_?tokens/i.test(path) ? tokens : /\/models\b/.test(path) ? models : undefined;
  response.writeHead(known ? 200 : 404, { "content-type": "application/json" });
  response.end(JSON.stringify(known ?? { error: { message: "not here" } }));
}

function send(response: ServerResponse, reply: ModelReply): void {
  if ("json" in reply) {
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(reply.json));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of reply.events) {
    const type = reply.named ? `event: ${(event as { readonly type: string }).type}\n` : "";
    response.write(`${type}data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`);
  }
  response.end();
}
