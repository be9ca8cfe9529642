// Long because it is one table: every example of the surface, in an order in which a front end could send them.
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { type FrontEndClient, overHttp, overStdio, overWebSocket, told } from "../support/clients/frontEnds.js";
import { startHttpServer } from "../support/http/httpServer.js";
import { OPERATOR, threePrincipals } from "../support/http/threePrincipals.js";
import { mockProvider } from "../support/model/mockProvider.js";
import { startResponsesServer } from "../support/model/responsesServer.js";
import { type McpServer, startServer } from "../support/processes/mcpServer.js";
import { fill, type Variables } from "../support/processes/placeholders.js";
import { valueAt } from "../support/scenarios/scenario.js";
import { type Stage, setStage } from "../support/stage.js";

type Json = Readonly<Record<string, unknown>>;

/** What a double of Codex lacks: files of threads, commands and images. */
type Need = "records" | "commands" | "images";

interface Example {
  readonly method: string;
  readonly params?: Json;
  /** The result, or `{ error }`; `<uuid>` and similar placeholders stand for values that differ each time. */
  readonly answer: Json;
  /** What the server asks before those, and the client's decision. */
  readonly asked?: readonly (readonly [method: string, params: Json, decision: string])[];
  /** Notifications that belong to it, with their parameters. */
  readonly told?: readonly (readonly [method: string, params: Json])[];
  /** Variable → dotted path into the result. */
  readonly keep?: Readonly<Record<string, string>>;
  readonly needs?: Need;
  /** Only for this engine. */
  readonly engine?: "native" | "codex";
  /** Only on this transport. */
  readonly on?: "stdio" | "network";
  /** The condition to wait for before it is sent. */
  readonly before?: (stage: Stage) => void;
}

/** Variables, whose values are known once a server runs. */
const variable = (name: string) => `\${${name}}`;
const REPO = variable("REPO");
const PLAIN = variable("PLAIN");
const PUSHED = variable("PUSHED");
const MODEL = variable("MODEL");
const ID = variable("ID");
const ROLLOUT = variable("ROLLOUT");
const SUBSCRIPTION = variable("SUBSCRIPTION");

const NOBODY = "01998a2e-5c1e-7d40-9f0a-2f6a5f1d7c11";
const NEW = { model: "gpt-5-codex", cwd: REPO, approvalPolicy: "on-request", sandbox: "workspace-write" };
const TURN = {
  cwd: REPO,
  approvalPolicy: "never",
  sandboxPolicy: { mode: "read-only" },
  model: "gpt-5-codex",
  effort: "medium",
  summary: "auto",
};
const UNSET = { modelProvider: null, approvalPolicy: null, modelReasoningSummary: null, modelVerbosity: null, chatgptBaseUrl: null };

function text(...lines: readonly string[]): Json {
  return { type: "text", data: { text: lines.join("\n") } };
}

function refused(code: number, message: string, data?: Json): Json {
  return { error: { code, message, ...(data && { data }) } };
}

const NOT_FOUND = refused(-32600, `conversation not found: ${NOBODY}`, { code: "thread_not_found" });

const EXAMPLES: readonly Example[] = [
  { method: "getAuthStatus", params: { includeToken: true, refreshToken: false }, answer: { requiresOpenaiAuth: true } },
  { method: "loginApiKey", params: { apiKey: "sk-test" }, answer: {}, told: [["authStatusChange", { authMethod: "apikey" }]] },
  {
    method: "getAuthStatus",
    params: { includeToken: true, refreshToken: false },
    answer: { authMethod: "apikey", authToken: "sk-test", requiresOpenaiAuth: true },
  },
  { method: "getAuthStatus", params: {}, answer: { authMethod: "apikey", requiresOpenaiAuth: true } },
  { method: "userInfo", answer: { allegedUserEmail: null } },
  { method: "getUserAgent", answer: { userAgent: "<agent>" } },
  {
    method: "newConversation",
    params: { ...NEW, config: { model_reasoning_effort: "high", "sandbox_workspace_write.network_access": true } },
    answer: { conversationId: "<uuid>", model: MODEL, reasoningEffort: "high", rolloutPath: "<path>" },
    keep: { ID: "conversationId", ROLLOUT: "rolloutPath" },
    on: "stdio",
  },
  // The server decides whether network callers may use it.
  {
    method: "newConversation",
    params: { ...NEW, config: { model_reasoning_effort: "high", "sandbox_workspace_write.network_access": true } },
    answer: refused(-32600, "<begins This server does not take `sandbox_workspace_write.network_access`>", { code: "above_ceiling" }),
    on: "network",
  },
  {
    method: "newConversation",
    params: { ...NEW, config: { model_reasoning_effort: "high" } },
    answer: { conversationId: "<uuid>", model: MODEL, reasoningEffort: "high", rolloutPath: "<path>" },
    keep: { ID: "conversationId", ROLLOUT: "rolloutPath" },
    on: "network",
  },
  {
    method: "newConversation",
    params: { profile: "nope" },
    answer: refused(-32600, "<begins error deriving config: config profile `nope` not found>", { code: "settings_invalid" }),
  },
  { method: "newConversation", params: { sandbox: "none" }, answer: refused(-32602, "<begins newConversation: `sandbox`>") },
  { method: "addConversationListener", params: { conversationId: NOBODY }, answer: NOT_FOUND },
  {
    method: "addConversationListener",
    params: { conversationId: ID },
    answer: { subscriptionId: "<uuid>" },
    keep: { SUBSCRIPTION: "subscriptionId" },
  },
  {
    method: "sendUserMessage",
    params: { conversationId: ID, items: [text("!say Done.")] },
    answer: {},
    told: [
      ["codex/event/agent_message", { conversationId: ID, id: "0", msg: { type: "agent_message", message: "Done." } }],
      ["codex/event/task_complete", { conversationId: ID, id: "0", msg: { type: "task_complete", last_agent_message: "Done." } }],
    ],
  },
  { method: "sendUserMessage", params: { conversationId: NOBODY, items: [text("hi")] }, answer: NOT_FOUND },
  { method: "sendUserMessage", params: {}, answer: refused(-32602, "<begins sendUserMessage: `conversationId`>") },
  { method: "sendUserTurn", params: { conversationId: NOBODY, items: [text("again")], ...TURN }, answer: NOT_FOUND },
  { method: "sendUserTurn", params: { conversationId: ID, items: [text("!hang")], ...TURN }, answer: {} },
  { method: "interruptConversation", params: { conversationId: NOBODY }, answer: NOT_FOUND },
  {
    method: "interruptConversation",
    params: { conversationId: ID },
    answer: { abortReason: "interrupted" },
    told: [["codex/event/turn_aborted", { conversationId: ID, id: "1", msg: { type: "turn_aborted", reason: "interrupted" } }]],
  },
  // No turn is running: Codex never answered this.
  { method: "interruptConversation", params: { conversationId: ID }, answer: { abortReason: "interrupted" }, needs: "records" },
  {
    method: "sendUserMessage",
    params: { conversationId: ID, items: [text("!say Seen."), { type: "localImage", data: { path: `${REPO}/shot.png` } }] },
    answer: {},
    told: [
      ["codex/event/agent_message", { conversationId: ID, id: "2", msg: { type: "agent_message", message: "Seen." } }],
      ["codex/event/task_complete", { conversationId: ID, id: "2", msg: { type: "task_complete", last_agent_message: "Seen." } }],
    ],
    needs: "images",
  },
  {
    method: "sendUserTurn",
    params: { conversationId: ID, items: [text("!escalate echo asked", "!say Ran.")], ...TURN, approvalPolicy: "on-request" },
    answer: {},
    asked: [
      [
        "execCommandApproval",
        { conversation_id: ID, call_id: "<text>", command: "<argv>", cwd: REPO, reason: "the script asks for it" },
        "approved",
      ],
    ],
    told: [
      ["codex/event/agent_message", { conversationId: ID, id: "<text>", msg: { type: "agent_message", message: "Ran." } }],
      ["codex/event/task_complete", { conversationId: ID, id: "<text>", msg: { type: "task_complete", last_agent_message: "Ran." } }],
    ],
    needs: "commands",
  },
  {
    method: "sendUserTurn",
    params: { conversationId: ID, items: [text("!patch asked.txt hello", "!say Kept.")], ...TURN, approvalPolicy: "on-request" },
    answer: {},
    asked: [
      ["applyPatchApproval", { conversation_id: ID, call_id: "<text>", file_changes: { [`${REPO}/asked.txt`]: "<added>" } }, "denied"],
    ],
    told: [
      ["codex/event/agent_message", { conversationId: ID, id: "<text>", msg: { type: "agent_message", message: "Kept." } }],
      ["codex/event/task_complete", { conversationId: ID, id: "<text>", msg: { type: "task_complete", last_agent_message: "Kept." } }],
    ],
    needs: "commands",
  },
  { method: "removeConversationListener", params: { subscriptionId: SUBSCRIPTION }, answer: {} },
  {
    method: "removeConversationListener",
    params: { subscriptionId: SUBSCRIPTION },
    answer: refused(-32600, `subscription not found: ${SUBSCRIPTION}`),
  },
  {
    method: "listConversations",
    params: { pageSize: 2 },
    answer: { items: [{ conversationId: ID, path: ROLLOUT, preview: "!say Done.", timestamp: "<time>" }] },
    needs: "records",
  },
  { method: "listConversations", params: { cursor: "elsewhere" }, answer: refused(-32600, "invalid cursor: elsewhere"), needs: "records" },
  {
    method: "resumeConversation",
    params: { path: ROLLOUT, overrides: { model: "gpt-5" } },
    answer: { conversationId: ID, model: "gpt-5", reasoningEffort: "<text>", rolloutPath: ROLLOUT, initialMessages: "<past>" },
    told: [
      [
        "sessionConfigured",
        {
          sessionId: ID,
          model: "gpt-5",
          reasoningEffort: "<text>",
          historyLogId: 0,
          historyEntryCount: 0,
          initialMessages: "<past>",
          rolloutPath: ROLLOUT,
        },
      ],
    ],
    needs: "records",
  },
  {
    method: "resumeConversation",
    params: { path: "/etc/passwd" },
    answer: refused(-32600, "rollout path `/etc/passwd` must be in sessions directory", { code: "record_refused" }),
  },
  {
    method: "archiveConversation",
    params: { conversationId: NOBODY, rolloutPath: ROLLOUT },
    answer: refused(-32600, `rollout path \`${ROLLOUT}\` does not match conversation id ${NOBODY}`),
    needs: "records",
  },
  { method: "archiveConversation", params: { conversationId: ID, rolloutPath: ROLLOUT }, answer: {}, needs: "records" },
  {
    method: "archiveConversation",
    params: { conversationId: ID, rolloutPath: ROLLOUT },
    answer: refused(-32600, `rollout path \`${ROLLOUT}\` must be in sessions directory`, { code: "record_refused" }),
    needs: "records",
  },
  { method: "gitDiffToRemote", params: { cwd: REPO }, answer: { sha: PUSHED, diff: "<diff>" }, needs: "commands" },
  {
    method: "gitDiffToRemote",
    params: { cwd: PLAIN },
    answer: refused(-32600, `failed to compute git diff to remote for cwd: "${PLAIN}"`, { code: "no_remote_diff", reason: "<text>" }),
    needs: "commands",
  },
  {
    method: "execOneOffCommand",
    params: { command: ["echo", "hi"], timeoutMs: 5_000, cwd: REPO, sandboxPolicy: { mode: "danger-full-access" } },
    answer: { exitCode: 0, stdout: "hi\n", stderr: "" },
    needs: "commands",
  },
  { method: "execOneOffCommand", params: { command: [] }, answer: refused(-32600, "command must not be empty") },
  {
    method: "execOneOffCommand",
    params: { command: ["sleep", "60"], timeoutMs: 200, cwd: REPO, sandboxPolicy: { mode: "read-only" } },
    answer: refused(-32603, "exec failed: sandbox error: command timed out", { code: "timed_out" }),
    needs: "commands",
  },
  {
    method: "getUserSavedConfig",
    before: ({ codexHome }) =>
      writeFileSync(
        path.join(codexHome, "config.toml"),
        'approval_policy = "on-request"\nmodel = "gpt-5-codex"\nprofile = "fast"\n[profiles.fast]\nmodel = "gpt-5"\nmodel_reasoning_effort = "low"\n',
      ),
    answer: {
      config: {
        approvalPolicy: "on-request",
        model: "gpt-5-codex",
        profile: "fast",
        profiles: { fast: { model: "gpt-5", modelReasoningEffort: "low", ...UNSET } },
      },
    },
  },
  { method: "setDefaultModel", params: { model: "gpt-5", reasoningEffort: "high" }, answer: {} },
  {
    method: "getUserSavedConfig",
    answer: {
      config: {
        approvalPolicy: "on-request",
        model: "gpt-5-codex",
        profile: "fast",
        profiles: { fast: { model: "gpt-5", modelReasoningEffort: "high", ...UNSET } },
      },
    },
  },
  {
    method: "getUserSavedConfig",
    before: ({ codexHome }) => writeFileSync(path.join(codexHome, "config.toml"), "= broken"),
    answer: refused(-32603, "<begins failed to load config.toml: >", { code: "<text>" }),
  },
  { method: "setDefaultModel", params: {}, answer: refused(-32603, "<begins failed to persist overrides: >", { code: "<text>" }) },
  {
    method: "cancelLoginChatGpt",
    before: ({ codexHome }) => writeFileSync(path.join(codexHome, "config.toml"), ""),
    params: { loginId: NOBODY },
    answer: refused(-32600, `login id not found: ${NOBODY}`),
  },
  {
    method: "loginChatGpt",
    answer: refused(-32603, "<begins failed to start login server: >", { code: "login_not_possible" }),
    engine: "native",
  },
  { method: "logoutChatGpt", answer: {}, told: [["authStatusChange", {}]] },
  { method: "noSuchMethod", answer: refused(-32601, "method not found: noSuchMethod", { method: "noSuchMethod" }) },
];

interface EngineOfMethods {
  readonly engine: "native" | "codex";
  /** Flags that choose it. */
  readonly args: readonly string[];
  readonly lacks: readonly Need[];
  /** The model that it runs instead of every named one. */
  readonly model?: string;
}

type Transport = "stdio" | "HTTP" | "WebSocket";

/** Every example of the surface, sent and answered on every transport of a real server with this engine. */
export function codexMethodsContract(name: string, start: () => EngineOfMethods): void {
  describe(`the examples of Codex's own methods: ${name}`, () => {
    it.each<Transport>(["stdio", "HTTP", "WebSocket"])("%s", { timeout: 120_000 }, async (transport) => {
      const { engine, args, lacks, model: own = NEW.model } = start();
      await using model = await startResponsesServer();
      await using opened = await openOn(transport, args, mockProvider(model.url, ["requires_openai_auth = true"]));
      const variables: Record<string, unknown> = { ...furnish(opened.stage), MODEL: own };
      for (const [at, example] of EXAMPLES.entries()) {
        if (example.needs !== undefined && lacks.includes(example.needs)) continue;
        if (example.engine !== undefined && example.engine !== engine) continue;
        if (example.on !== undefined && (example.on === "stdio") !== (transport === "stdio")) continue;
        await play(example, { at, client: opened.client, stage: opened.stage, variables });
      }
    });
  });
}

interface Playing {
  readonly at: number;
  readonly client: FrontEndClient;
  readonly stage: Stage;
  readonly variables: Record<string, unknown>;
}

async function play(example: Example, playing: Playing): Promise<void> {
  const { method, params, answer, before, keep = {}, asked = [], told: expected = [] } = example;
  const { at, client, stage, variables } = playing;
  before?.(stage);
  const toldBefore = client.told().length;
  const result = await client.request(method, params && (fill(params, variables) as Json));
  for (const [name, place] of Object.entries(keep)) variables[name] = valueAt(result, place);
  expect({ at, method, answer: result }).toEqual({ at, method, answer: asExpected(answer, variables) });
  const next = (name: string) => {
    const earlier = client.told().slice(0, toldBefore);
    return told(client, name, 1 + earlier.filter((message) => message["method"] === name).length);
  };
  for (const [question, its, decision] of asked) {
    const { id, params: seen } = await next(question);
    expect({ at, question, params: withoutMeta(seen) }).toEqual({ at, question, params: asExpected(its, variables) });
    await client.reply(id, { decision });
  }
  for (const [notification, its] of expected) {
    const seen = withoutMeta((await next(notification))["params"]);
    expect({ at, notification, params: seen }).toEqual({ at, notification, params: asExpected(its, variables) });
  }
}

/** Messages over WebSocket are numbered there. */
function withoutMeta(params: unknown): Json {
  const { _meta: _, ...rest } = params as Json;
  return rest;
}

const STAND_INS: Readonly<Record<string, () => unknown>> = {
  "<uuid>": () => expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
  "<path>": () => expect.stringMatching(/^\/.+/),
  "<text>": () => expect.stringMatching(/./),
  "<time>": () => expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
  "<agent>": () => expect.stringMatching(/^codex_mcpd\/\S+ \(.+; .+\) \S+ \(test; 1(\.0\.0)?\)$/),
  "<argv>": () => expect.arrayContaining([expect.stringContaining("echo asked")]),
  "<added>": () => ({ add: { content: expect.stringMatching(/^hello\n?$/) } }),
  "<diff>": () => expect.stringMatching(/^diff --git a\/x b\/x\n/),
  "<past>": () =>
    expect.arrayContaining([
      expect.objectContaining({ type: "user_message", message: "!say Done.", kind: "plain" }),
      expect.objectContaining({ type: "agent_message", message: "Done." }),
    ]),
};

function asExpected(value: unknown, variables: Variables): unknown {
  if (typeof value === "string") {
    const [, beginning] = /^<begins (.*)>$/.exec(value) ?? [];
    if (beginning !== undefined) return expect.stringMatching(new RegExp(`^${beginning.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")}`));
    return STAND_INS[value]?.() ?? fill(value, variables);
  }
  if (Array.isArray(value)) return value.map((entry) => asExpected(entry, variables));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [String(fill(key, variables)), asExpected(entry, variables)]));
}

interface OpenedTransport extends AsyncDisposable {
  readonly client: FrontEndClient;
  readonly stage: Stage;
}

/** The examples' settings must be within the ceilings of a listening server. */
const CEILINGS = ["--max-sandbox", "danger-full-access", "--allow-root", "/", "--allow-config", "*"];

async function openOn(transport: Transport, args: readonly string[], config: string): Promise<OpenedTransport> {
  if (transport === "stdio") {
    const server: McpServer = await startServer({ args, config });
    await server.initialize();
    return { client: overStdio(server), stage: server.stage, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  }
  const stage = await setStage();
  const server = await startHttpServer({ stage, args: [...args, ...CEILINGS, ...(await threePrincipals(stage))], config });
  const client = await (transport === "HTTP" ? overHttp : overWebSocket)(server, OPERATOR);
  return {
    client,
    stage,
    async [Symbol.asyncDispose]() {
      client[Symbol.dispose]();
      await server[Symbol.asyncDispose]();
      await stage[Symbol.asyncDispose]();
    },
  };
}

const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");

/** A repository with a change that its remote does not have, and a folder that is not a repository. */
function furnish({ workspace }: Stage): Record<string, unknown> {
  const [remote, repo, plain] = ["remote.git", "repo", "plain"].map((name) => path.join(workspace, name)) as [string, string, string];
  for (const folder of [repo, plain]) mkdirSync(folder);
  git(workspace, "init", "--bare", remote);
  git(repo, "init");
  writeFileSync(path.join(repo, "x"), "one\n");
  git(repo, "add", "x");
  git(repo, "commit", "-m", "first");
  git(repo, "remote", "add", "origin", remote);
  git(repo, "push", "origin", "HEAD");
  writeFileSync(path.join(repo, "x"), "two\n");
  writeFileSync(path.join(repo, "shot.png"), PNG);
  return { REPO: repo, PLAIN: plain, PUSHED: git(repo, "rev-parse", "HEAD") };
}

function git(cwd: string, ...args: readonly string[]): string {
  const identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false"];
  return execFileSync("git", [...identity, ...args], { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
}
