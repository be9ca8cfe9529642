import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import type { StreamPlan } from "./eventStreams.js";
import { isRecord } from "./lineRpc.js";
import type { ListeningServer } from "./listening.js";
import { SCRIPTED_MODEL } from "./stage.js";
import type { TargetName } from "./targets.js";

const CALL_DEADLINE_MS = 2 * 60_000;

/** How to make the same requests to servers with different HTTP APIs. */
export interface ApiDialect {
  /** An address whose response costs the server almost nothing. */
  readonly smallRequest: { readonly url: string; readonly expect: string };
  newThread(): Promise<string>;
  /** Resolves with the answer when the turn has ended. */
  turn(thread: string, prompt: string): Promise<string>;
  /** Descriptions of `count` streams that together show a turn of each thread. */
  streams(threads: readonly string[], count: number): readonly StreamPlan[];
}

export function dialectOf(target: TargetName, server: ListeningServer): ApiDialect {
  return target === "opencode" ? opencode(server) : ours(server);
}

function ours({ url }: ListeningServer): ApiDialect {
  const api = new URL("/api/v1", url).href;
  const begin = { prompt: "!say hi", sandbox: "read-only", approvalPolicy: "never", wait: 60 };
  return {
    smallRequest: { url: `${api}/health`, expect: '"version"' },
    async newThread() {
      const { thread } = parsed(await post(`${api}/threads`, begin));
      return isRecord(thread) ? String(thread.id) : "";
    },
    turn: (thread, prompt) => post(`${api}/threads/${thread}/turns`, { prompt, wait: 60 }),
    // Half of the streams watch the server, as the console's inbox does; each of the others watches one thread, with all events of its turns.
    streams: (threads, count) => [
      { url: `${api}/events`, count: count / 2, end: "turn.ended", ends: threads.length, endsLast: true },
      ...threads.map((thread) => ({
        url: `${api}/threads/${thread}/events`,
        count: count / 2 / threads.length,
        end: "turn.ended",
        ends: 1,
        endsLast: true,
      })),
    ],
  };
}

function opencode({ url, cwd }: ListeningServer): ApiDialect {
  const directory = `?directory=${encodeURIComponent(cwd)}`;
  const model = { providerID: SCRIPTED_MODEL, modelID: SCRIPTED_MODEL };
  const turn = (thread: string, text: string) =>
    post(`${url}/session/${thread}/message${directory}`, { model, parts: [{ type: "text", text }] });
  return {
    smallRequest: { url: `${url}/global/health`, expect: '"healthy"' },
    async newThread() {
      const id = String(parsed(await post(`${url}/session${directory}`, { title: "bench" })).id);
      await turn(id, "!say hi");
      return id;
    },
    turn,
    // It has no stream for one session: each stream has all events.
    streams: (threads, count) => [{ url: `${url}/event${directory}`, count, end: "session.idle", ends: threads.length, endsLast: false }],
  };
}

const connections = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });

async function post(url: string, body: object): Promise<string> {
  const headers = { "content-type": "application/json" };
  const call = request(url, { method: "POST", agent: connections, headers, signal: AbortSignal.timeout(CALL_DEADLINE_MS) });
  call.end(JSON.stringify(body));
  const [response]: IncomingMessage[] = await once(call, "response");
  let text = "";
  for await (const chunk of response?.setEncoding("utf8") ?? []) text += chunk;
  if (response?.statusCode !== 200 && response?.statusCode !== 201)
    throw new Error(`POST ${url} returned ${response?.statusCode}: ${text.slice(0, 300)}`);
  return text;
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(text);
  return isRecord(value) ? value : {};
}
