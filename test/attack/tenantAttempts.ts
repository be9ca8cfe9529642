import type { HttpQuestion } from "../support/httpClient.js";
import type { SeededRandom } from "../support/patch/random.js";
import { FORMS, TASKS } from "../support/statelessClient.js";
import pins from "../support/toolPins.generated.json" with { type: "json" };

type Json = Readonly<Record<string, unknown>>;

/** What one principal has on the server that others would like to have. */
export interface Estate {
  readonly who: string;
  readonly token: string;
  readonly session: string;
  readonly lastEventId: string;
  /** Threads by what they are doing. */
  readonly threads: Readonly<Record<"idle" | "archived" | "running" | "asking", string>>;
  /** The request ids of calls that run in the session. */
  readonly calls: Readonly<Record<"running" | "asking", string>>;
  readonly questionId: unknown;
  readonly requestState: string;
  readonly taskId: string;
}

export interface Places {
  readonly codexHome: string;
  readonly tokenFile: string;
  readonly serverPid: number;
}

/** Something an attacker says: a request of the protocol, by whichever way it has, or a bare HTTP request. */
export type Attempt = { readonly name: string } & (
  | { readonly by: "session" | "websocket" | "stateless"; readonly method: string; readonly params: Json }
  | { readonly by: "notice"; readonly message: Json }
  | { readonly by: "http"; readonly question: HttpQuestion; readonly own?: true }
  | { readonly by: "upgrade"; readonly headers: Readonly<Record<string, string>>; readonly path?: string }
);

const WAYS = ["session", "websocket", "stateless"] as const;
const APPROVED = { action: "accept", decision: "approved", content: { decision: "approved" } };

/** As many attempts as asked for, the same ones for the same seed. Every kind comes up before any comes up twice. */
export function inventAttempts(random: SeededRandom, count: number, estates: readonly Estate[], places: Places): Attempt[] {
  const kinds = Object.entries(KINDS);
  return Array.from({ length: count }, (_, at) => {
    const [kind, invent] = kinds[at % kinds.length] ?? ["", KINDS["list"]];
    const estate = random.pick(estates);
    const attempt = invent?.({ random, estate, places });
    if (!attempt) throw new Error(`no attempt of the kind ${kind}`);
    return { ...attempt, name: `${at}: ${kind} of ${estate.who}'s, ${attempt.name}` };
  });
}

interface Circumstances {
  readonly random: SeededRandom;
  readonly estate: Estate;
  readonly places: Places;
}

type Invent = (circumstances: Circumstances) => Attempt;

function tool(random: SeededRandom, name: string, args: Json): Attempt {
  return request(random, "tools/call", { name, arguments: args });
}

function request(random: SeededRandom, method: string, params: Json): Attempt {
  const by = random.pick(WAYS);
  return { name: `${method} ${typeof params["name"] === "string" ? params["name"] : ""} by ${by}`, by, method, params };
}

/** The same thread, written so that a careless comparison or a path might take it for another. */
function disguised(random: SeededRandom, id: string): string {
  return random.pick([
    id,
    id,
    id,
    id.toUpperCase(),
    ` ${id}`,
    `${id}\n`,
    `${id}\u0000`,
    `../${id}`,
    `${id}.jsonl`,
    encodeURIComponent(`/${id}`),
    `{${id}}`,
  ]);
}

/** A task's id is said in a header too. */
function inHeader(id: string): string {
  return id.replaceAll(/\p{Cc}/gu, "%00").trim();
}

function threadOf({ random, estate }: Circumstances): string {
  return disguised(random, random.pick(Object.values(estate.threads)));
}

const onThread =
  (name: string, rest: (random: SeededRandom) => Json = () => ({})): Invent =>
  (at) =>
    tool(at.random, name, { threadId: threadOf(at), ...rest(at.random) });

const stateOf = ({ estate }: Circumstances) => ({ requestState: estate.requestState, inputResponses: { "approval-1": APPROVED } });

/** Every tool that takes a thread, with the example of its own file, also one that nobody thought of here. */
const ON_THREADS = pins.tools
  .filter(({ inputSchema }) => "threadId" in inputSchema.properties)
  .map(({ name }): [string, Invent] => [`${name} with its example`, onThread(name, () => exampleOf(name))]);

function exampleOf(name: string): Json {
  const { threadId: _, ...rest } = (pins.examples as Readonly<Record<string, Json>>)[name] ?? {};
  return rest;
}

const KINDS: Readonly<Record<string, Invent>> = {
  ...Object.fromEntries(ON_THREADS),
  reply: onThread("codex-reply", (random) => ({ prompt: random.pick(["!say stolen", "!shell touch stolen.txt\n!say stolen"]) })),
  "reply by the older name": (at) => tool(at.random, "codex-reply", { conversationId: threadOf(at), prompt: "!say stolen" }),
  steer: onThread("codex-steer", () => ({ prompt: "!say stolen" })),
  summary: onThread("codex-manage", () => ({ action: "compact" })),
  "reading the thread": onThread("codex-threads", () => ({ action: "read" })),
  fork: onThread("codex-manage", () => ({ action: "fork" })),
  archive: onThread("codex-manage", (random) => ({ action: random.pick(["archive", "unarchive", "stop"]) })),
  list: ({ random, estate }) =>
    tool(random, "codex-threads", {
      action: "list",
      limit: 100,
      ...random.pick([
        {},
        { archived: true },
        { search: "!say" },
        { search: estate.who },
        { cursor: Buffer.from(estate.threads.idle).toString("base64") },
        { cwd: "/" },
      ]),
    }),
  "reading of files": ({ random, places }) =>
    tool(random, "codex-exec", {
      command: [
        "bash",
        "-c",
        random.pick([
          `cat '${places.tokenFile}'`,
          `grep -r . '${places.codexHome}'`,
          "cat /proc/[0-9]*/environ",
          `cat /proc/${places.serverPid}/environ`,
          `cat /proc/${places.serverPid}/root${places.tokenFile}`,
        ]),
      ],
    }),
  "reading by a turn": ({ random, places }) =>
    tool(random, "codex", {
      prompt: `!shell cat '${random.pick([places.tokenFile, `${places.codexHome}/mcp-server`, places.codexHome])}'/* ; find '${places.codexHome}' -type f -exec cat {} +\n!say done`,
      "approval-policy": "never",
    }),
  "reading by a patch": ({ random, places }) =>
    tool(random, "codex", {
      prompt: `!rawpatch *** Begin Patch\\n*** Update File: ${places.tokenFile}\\n*** Move to: stolen.txt\\n@@\\n+x\\n*** End of File\\n*** End Patch\n!say done`,
      sandbox: "workspace-write",
      "approval-policy": random.pick(["never", "on-request"]),
    }),
  "ending by a signal": ({ random, places }) =>
    tool(random, "codex-exec", {
      command: ["bash", "-c", random.pick([`kill -9 ${places.serverPid}`, "kill -9 -1", "pkill -9 node", "fuser -k -9 ."])],
    }),
  "working where it lies": ({ random, places }) =>
    tool(random, "codex", {
      prompt: "!shell find . -type f -exec cat {} +\n!say done",
      cwd: random.pick([places.codexHome, `${places.codexHome}/sessions`, "/", "..", `/proc/${places.serverPid}/cwd/..`]),
    }),
  "settings of everybody": ({ random }) =>
    random.pick([
      () => tool(random, "codex-config", {}),
      () => tool(random, "codex-account", { action: random.pick(["login", "logout"]), apiKey: "sk-mine" }),
      () => tool(random, "codex", { prompt: "!say x", config: { "mcp_servers.x.command": "bash" } }),
      () => tool(random, "codex", { prompt: "!say x", sandbox: "danger-full-access" }),
    ])(),
  "task's state": ({ random, estate }) =>
    taskRequest(random, random.pick(["tasks/get", "tasks/result"]), { taskId: inHeader(disguised(random, estate.taskId)) }),
  "task's end": ({ random, estate }) => taskRequest(random, "tasks/cancel", { taskId: inHeader(disguised(random, estate.taskId)) }),
  "task's answer": ({ random, estate }) =>
    taskRequest(random, "tasks/update", { taskId: estate.taskId, inputResponses: { "approval-1": APPROVED } }),
  "waiting turn": (at) => ({
    name: "requestState replayed",
    by: "stateless",
    method: "tools/call",
    params: {
      name: "codex",
      arguments: { prompt: "!shell touch stateless.txt\n!say done", "approval-policy": "untrusted", sandbox: "workspace-write" },
      ...stateOf(at),
      ...at.random.pick([{}, {}, { requestState: `${at.estate.requestState}=` }, { requestState: at.estate.requestState.slice(0, -2) }]),
    },
  }),
  "call's end": ({ random, estate }) => ({
    name: "cancelled in the attacker's session",
    by: "notice",
    message: { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: random.pick(Object.values(estate.calls)) } },
  }),
  "question's answer": ({ estate }) => ({
    name: "answered in the attacker's session",
    by: "notice",
    message: { jsonrpc: "2.0", id: estate.questionId, result: APPROVED },
  }),
  "session as a caller": ({ random, estate }) => ({
    name: "a message for the session",
    by: "http",
    own: true,
    question: {
      headers: { "mcp-session-id": estate.session },
      message: random.pick([
        { jsonrpc: "2.0", id: 77, method: "ping" },
        {
          jsonrpc: "2.0",
          id: 78,
          method: "tools/call",
          params: { name: "codex-reply", arguments: { threadId: estate.threads.idle, prompt: "!say stolen" } },
        },
        { jsonrpc: "2.0", id: estate.questionId, result: APPROVED },
        { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: estate.calls.running } },
      ]),
    },
  }),
  "session's stream": ({ random, estate }) => ({
    name: "a stream of the session",
    by: "http",
    own: true,
    question: {
      headers: {
        "mcp-session-id": estate.session,
        accept: "text/event-stream",
        ...random.pick<Record<string, string>>([{}, { "last-event-id": estate.lastEventId }, { "last-event-id": "0" }]),
      },
    },
  }),
  "stream's past": ({ estate }) => ({
    name: "an event's id in a stream of one's own",
    by: "http",
    own: true,
    question: { headers: { accept: "text/event-stream", "last-event-id": estate.lastEventId } },
  }),
  "session's end": ({ estate }) => ({
    name: "DELETE of the session",
    by: "http",
    own: true,
    question: { method: "DELETE", headers: { "mcp-session-id": estate.session } },
  }),
  "socket's session": ({ random, estate }) => ({
    name: "a WebSocket into the session",
    by: "upgrade",
    ...random.pick<{ headers: Record<string, string>; path?: string }>([
      { headers: { "mcp-session-id": estate.session } },
      { headers: {}, path: `/mcp?session=${estate.session}&sessionId=${estate.session}` },
      { headers: { "mcp-session-id": estate.session, "last-event-id": estate.lastEventId } },
    ]),
  }),
  "page about everybody": ({ random, estate }) => ({
    name: "a page of the server",
    by: "http",
    own: true,
    question: {
      path: random.pick([
        "/sessions",
        "/metrics",
        `/sessions/${estate.session}`,
        "/mcp/../sessions",
        "/%73essions",
        "/sessions?principal=root",
        "/api/threads",
        `/api/threads/${estate.threads.idle}`,
        "/debug",
      ]),
    },
  }),
  token: ({ random, estate: { token, who } }) => {
    const forged = random.pick([
      `Bearer ${token.slice(0, -1)}`,
      `Bearer ${token}x`,
      `Bearer ${token.toUpperCase()}`,
      `Bearer ${[...token].reverse().join("")}`,
      `Bearer ${who}`,
      `Bearer ${who} `,
      `Basic ${Buffer.from(`${who}:`).toString("base64")}`,
      `Basic ${Buffer.from(`${who}:${who}`).toString("base64")}`,
      "Bearer null",
      "Bearer",
      `Digest username="${who}"`,
    ]);
    return {
      name: "a forged token",
      by: "http",
      question: { headers: { authorization: forged }, message: { jsonrpc: "2.0", id: 1, method: "tools/list" } },
    };
  },
  name: ({ random, estate: { who } }) => ({
    name: "another name in headers",
    by: "http",
    own: true,
    question: {
      path: "/sessions",
      headers: random.pick<Record<string, string>>([
        { "x-user": who },
        { "x-principal": who },
        { "x-forwarded-user": who },
        { cookie: `principal=${who}; token=${who}` },
        { "x-remote-user": who },
      ]),
    },
  }),
};

function taskRequest(random: SeededRandom, method: string, params: Json): Attempt {
  return { ...request(random, method, params), by: "stateless", method, params };
}

export const TASK_CAPABILITIES = { ...FORMS, ...TASKS };
