import { FORMS, TASKS } from "../support/clients/statelessClient.js";
import type { HttpQuestion } from "../support/http/httpClient.js";
import { stateless } from "../support/http/statelessHttp.js";
import type { SeededRandom } from "../support/patch/random.js";
import pins from "../support/toolPins.generated.json" with { type: "json" };

type Json = Readonly<Record<string, unknown>>;

/** Everything of one principal that others could try to use. */
export interface Estate {
  readonly who: string;
  readonly token: string;
  readonly session: string;
  readonly lastEventId: string;
  /** Threads by their state. */
  readonly threads: Readonly<Record<"idle" | "archived" | "running" | "asking", string>>;
  /** The request ids of the session's running calls. */
  readonly calls: Readonly<Record<"running" | "asking", string>>;
  readonly questionId: unknown;
  readonly requestState: string;
  readonly taskId: string;
  /** The same things under the names of the HTTP API and of Codex's own methods. */
  readonly approvalId: string;
  readonly turnId: string;
  readonly eventsAfter: string;
  /** Where pages of the owner's lists continue: of threads by the API, of conversations by the method. */
  readonly cursors: readonly [string, string];
  /** A listener of the owner's session. */
  readonly subscriptionId: string;
  readonly rolloutPath: string;
}

export interface Places {
  readonly codexHome: string;
  readonly tokenFile: string;
  readonly serverPid: number;
}

/** One attempt: a request of the protocol on one of the transports, or a plain HTTP request. */
export type Attempt = { readonly name: string } & (
  | { readonly by: "session" | "websocket" | "stateless"; readonly method: string; readonly params: Json }
  | { readonly by: "notice"; readonly message: Json }
  | { readonly by: "http"; readonly question: HttpQuestion; readonly own?: true }
  | { readonly by: "upgrade"; readonly headers: Readonly<Record<string, string>>; readonly path?: string }
);

const WAYS = ["session", "websocket", "stateless"] as const;
const APPROVED = { action: "accept", decision: "approved", content: { decision: "approved" } };

/** Generates attempts from a seed. Every kind occurs before any kind occurs twice. */
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

/** Variants of an id that a careless comparison or a path could accept as the same thread. */
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

/** The form of a task id in a header. */
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

/** Every tool with a thread id, called with the example of its own file, so a new tool is included too. */
const ON_THREADS = pins.tools
  .filter(({ inputSchema }) => "threadId" in inputSchema.properties)
  .map(({ name }): [string, Invent] => [`${name} with its example`, onThread(name, () => exampleOf(name))]);

function exampleOf(name: string): Json {
  const { threadId: _, ...rest } = (pins.examples as Readonly<Record<string, Json>>)[name] ?? {};
  return rest;
}

const API = "/api/v1";

/** A request to the HTTP API with the attacker's own token. */
function api(method: string, path: string, { message, headers = {} }: Pick<HttpQuestion, "message" | "headers"> = {}): Attempt {
  const question = { method, path: `${API}${path}`, headers, ...(message !== undefined && { message }) };
  return { name: `${method} ${path}`, by: "http", own: true, question };
}

/** The same thread in a path that routers could read in different ways. */
function inPath({ random, estate }: Circumstances): string {
  const id = random.pick(Object.values(estate.threads));
  return random.pick([id, id, id, id.toUpperCase(), `${id}%00`, `x/../${id}`, `%2e%2e/threads/${id}`, `${id}%2f`, `/${id}`, `${id};a=b`]);
}

/** One of Codex's own methods, which only sessions have. */
function own(random: SeededRandom, method: string, params: Json): Attempt {
  return { name: method, by: random.pick(["session", "websocket"] as const), method, params };
}

const conversationOf = ({ random, estate }: Circumstances) => random.pick(Object.values(estate.threads));

const BY_API: Readonly<Record<string, Invent>> = {
  "thread by the API": (at) =>
    api("GET", `/threads/${inPath(at)}${at.random.pick(["", "/items", "/items?order=oldest", "/diff?scope=thread", "/plan", "/items/1"])}`),
  "file by the API": (at) =>
    api("GET", `/threads/${inPath(at)}/file?path=${encodeURIComponent(at.random.pick([at.places.tokenFile, ".", "made.txt"]))}&first=1`),
  "lists continued": ({ random, estate: { cursors } }) =>
    random.pick([
      () => api("GET", `/threads?limit=200&cursor=${encodeURIComponent(random.pick(cursors))}`),
      () => tool(random, "codex-threads", { action: "list", limit: 100, cursor: random.pick(cursors) }),
      () => own(random, "listConversations", { cursor: random.pick(cursors) }),
    ])(),
  "turn by the API": (at) => api("GET", `/threads/${inPath(at)}/turns/${at.estate.turnId}`),
  "lists of the API": ({ random, estate }) =>
    api(
      "GET",
      random.pick([
        "/threads?limit=200",
        "/threads?archived=true",
        `/threads?search=${estate.who}`,
        "/threads?cwd=/",
        `/threads?cursor=${estate.threads.idle}`,
        "/projects",
        "/approvals",
        `/approvals?threadId=${estate.threads.asking}`,
        "/config",
        "/doctor",
        "/account",
        "/metrics",
      ]),
    ),
  "changes by the API": (at) => {
    const to = at.random.pick(["patch", "delete", "fork", "turns", "steer", "interrupt", "compact"] as const);
    if (to === "delete") return api("DELETE", `/threads/${inPath(at)}`);
    if (to === "patch")
      return api("PATCH", `/threads/${inPath(at)}`, { message: at.random.pick([{ name: "stolen" }, { archived: true }]) });
    const message = { turns: { prompt: "!shell touch stolen.txt" }, steer: { text: "!say stolen" }, fork: {}, interrupt: {}, compact: {} }[
      to
    ];
    return api("POST", `/threads/${inPath(at)}/${to}`, { message });
  },
  "question by the API": ({ random, estate: { approvalId } }) =>
    random.pick([
      () => api("GET", `/approvals/${approvalId}`),
      () =>
        api("POST", `/approvals/${approvalId}/answer`, { message: { decision: random.pick(["approve", "approve-for-session", "abort"]) } }),
      () => tool(random, "codex-answer", { id: approvalId, decision: random.pick(["approve", "abort"]) }),
    ])(),
  "events by the API": (at) => {
    const { random, estate } = at;
    const [feed = ""] = estate.eventsAfter.split(".");
    const first = feed.replace(/-\d+$/, "-0");
    const after = random.pick([first, feed, estate.eventsAfter, `${first}.1.0`, `${feed}.${feed.replace(/^.*-/, "")}.0`]);
    return api("GET", `${random.pick(["", `/threads/${conversationOf(at)}`])}/events?after=${after}`, {
      headers: { accept: "text/event-stream", ...random.pick<Record<string, string>>([{}, { "last-event-id": first }]) },
    });
  },
  "login of somebody": ({ random, estate: { who, token } }) =>
    random.pick([
      () => api("POST", "/login/codes"),
      () => api("POST", "/login", { message: { code: random.pick([token, who, "", "0"]) } }),
      () => ({ ...api("POST", "/login", { message: {}, headers: { authorization: `Bearer ${token}x` } }), own: true as const }),
      () => api("GET", "/me?principal=root", { headers: { cookie: `codex-mcpd-0=${token}` } }),
    ])(),
};

const BY_METHODS: Readonly<Record<string, Invent>> = {
  "conversation resumed": (at) =>
    own(
      at.random,
      "resumeConversation",
      at.random.pick<Json>([
        { conversationId: conversationOf(at) },
        { path: at.estate.rolloutPath },
        { path: at.estate.rolloutPath.replace("/sessions/", "/sessions/../sessions/") },
        { path: at.estate.rolloutPath, conversationId: conversationOf(at), overrides: { sandbox: "danger-full-access" } },
      ]),
    ),
  "conversation archived": (at) =>
    own(at.random, "archiveConversation", { conversationId: at.estate.threads.idle, rolloutPath: at.estate.rolloutPath }),
  "message to a conversation": (at) => {
    const said = { conversationId: conversationOf(at), items: [{ type: "text", data: { text: "!shell touch stolen.txt" } }] };
    const settings = { approvalPolicy: "never", sandboxPolicy: { mode: "danger-full-access" }, model: "any", summary: "auto", cwd: "/" };
    return at.random.pick([
      () => own(at.random, "sendUserMessage", said),
      () => own(at.random, "sendUserTurn", { ...said, ...settings }),
    ])();
  },
  "conversation's end": (at) => own(at.random, "interruptConversation", { conversationId: conversationOf(at) }),
  "conversation's listener": (at) => own(at.random, "addConversationListener", { conversationId: conversationOf(at) }),
  "listener's end": ({ random, estate: { subscriptionId } }) =>
    own(random, "removeConversationListener", { subscriptionId: random.pick([subscriptionId, subscriptionId.toUpperCase()]) }),
  "conversations listed": ({ random, estate }) =>
    own(random, "listConversations", random.pick<Json>([{ pageSize: 100 }, { cursor: estate.threads.idle }])),
  "command by a method": ({ random, places }) =>
    own(random, "execOneOffCommand", {
      command: ["sh", "-c", `cat '${places.tokenFile}'; grep -r . '${places.codexHome}'; touch stolen.txt`],
      ...random.pick<Json>([
        {},
        { sandboxPolicy: { mode: "danger-full-access" } },
        { sandboxPolicy: { mode: "read-only" } },
        { sandboxPolicy: { mode: "workspace-write", writable_roots: [places.codexHome] } },
        { cwd: places.codexHome },
      ]),
    }),
  "settings by a method": ({ random, places }) =>
    random.pick([
      () => own(random, "getUserSavedConfig", {}),
      () => own(random, "setDefaultModel", { model: "stolen" }),
      () => own(random, "loginApiKey", { apiKey: "sk-mine" }),
      () => own(random, "logoutChatGpt", {}),
      () => own(random, "getAuthStatus", { includeToken: true, refreshToken: true }),
      () => own(random, "gitDiffToRemote", { cwd: places.codexHome }),
    ])(),
};

const KINDS: Readonly<Record<string, Invent>> = {
  ...Object.fromEntries(ON_THREADS),
  ...BY_API,
  ...BY_METHODS,
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
  "task's news": ({ random, estate: { taskId } }) => {
    const taskIds = random.pick([[taskId], [taskId, taskId.toUpperCase()]]);
    const listening = stateless({
      method: "subscriptions/listen",
      params: { notifications: { taskIds } },
      capabilities: TASK_CAPABILITIES,
    });
    const question = { ...listening, headers: { ...listening.headers, accept: "text/event-stream" } };
    return { name: "a subscription", by: "http", own: true, question };
  },
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
  "call that was lost": ({ estate }) => ({
    name: "an event's id that names the thread",
    by: "http",
    own: true,
    question: {
      headers: {
        accept: "text/event-stream",
        "mcp-session-id": estate.session,
        "last-event-id": `00000000.g1.1.${Buffer.from('{"id":1}').toString("base64url")}.${estate.threads.idle}`,
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
