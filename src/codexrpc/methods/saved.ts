import { setImmediate as loopTurn } from "node:timers/promises";
import * as z from "zod/mini";
import { hasScope } from "../../agent/caller.js";
import { eventMsgs } from "../../codexwire/eventMsg.js";
import { RPC, RpcError } from "../../jsonrpc/errors.js";
import { type ThreadId, turnIdOf } from "../../lib/ids.js";
import { endsWithin } from "../../lib/promises.js";
import { InvalidCursor } from "../../threads/errors.js";
import type { ShownEvent } from "../../threads/store.js";
import { oldUserMessage } from "../client/eventNotifications.js";
import { defineMethod, type MethodContext } from "../surface/method.js";
import { failing } from "../surface/refusals.js";
import { askedSettings, ConversationId, modelFields, NewConversationShape, optional, Words } from "../surface/shapes.js";
import { interrupt } from "./turns.js";

const PAGE = { usual: 25, most: 100 };

export const listConversations = defineMethod({
  name: "listConversations",
  scope: "call",
  params: z.object({ pageSize: optional(z.int().check(z.nonnegative())), cursor: optional(z.string()) }),
  about:
    "A page of the saved conversations that the caller may use, newest first, without archived ones. An operator, who may listen to all conversations, gets those of all principals. A page may be short or empty and still have a next one. The default `pageSize` is 25, the maximum 100. " +
    "A cursor is valid for the caller that got it, even after a restart of the server; its format may change.",
  answers:
    "`items` of `conversationId`, `path`, `preview` (the start of the first user message, on one line) and `timestamp`; `nextCursor` if there are more.",
  errors: ["`-32600` `invalid cursor: {cursor}`", "`-32603` `failed to list conversations: …`"],
  example: [
    { id: 2, method: "listConversations", params: { pageSize: 2 } },
    {
      id: 2,
      result: {
        items: [
          {
            conversationId: "0199…a1",
            path: "/home/u/.codex/sessions/2025/09/26/rollout-2025-09-26T11-28-59-0199…a1.jsonl",
            preview: "Fix the flaky test",
            timestamp: "2025-09-26T09:28:59.120Z",
          },
        ],
        nextCursor: "…",
      },
    },
  ],
  async call({ pageSize = PAGE.usual, cursor }, { agent, ask }) {
    const limit = Math.min(Math.max(pageSize, 1), PAGE.most);
    const page = hasScope(ask.caller, "operator") ? agent.watchable(ask, { limit, cursor }) : agent.list(ask, { limit, cursor });
    const { threads, nextCursor } = await failing("failed to list conversations", page).catch((error: unknown) => {
      throw isInvalidCursor(error) ? new RpcError(RPC.invalidRequest, `invalid cursor: ${cursor ?? ""}`) : error;
    });
    const shown = threads.filter(({ preview }) => preview !== "");
    const unknown = shown.filter(({ path }) => path === undefined).map(({ id }) => id);
    const paths = unknown.length === 0 ? new Map<ThreadId, string>() : await agent.recordPaths(ask, unknown);
    const items = shown.flatMap(({ id, path = paths.get(id), preview, startedAt }) =>
      // A thread removed meanwhile has no path.
      path === undefined ? [] : [{ conversationId: id, path, preview, timestamp: startedAt }],
    );
    return { items, ...(nextCursor !== undefined && { nextCursor }) };
  },
});

function isInvalidCursor(error: unknown): boolean {
  const code =
    error instanceof RpcError && typeof error.extra === "object" && error.extra !== null && "code" in error.extra
      ? error.extra.code
      : undefined;
  return code === new InvalidCursor().code;
}

export const resumeConversation = defineMethod({
  name: "resumeConversation",
  scope: "call",
  params: z.object({
    path: optional(Words),
    conversationId: optional(ConversationId),
    history: optional(z.array(z.unknown())),
    overrides: optional(NewConversationShape),
  }),
  about:
    "Continues a saved conversation, by the path of its rollout in CODEX_HOME or by its id; if both are given, the path is used. An archived conversation returns to the list. `overrides` " +
    "replace single settings; the others stay as they were. Before the response, the client gets the conversation's settings and history, as `codex/event` with `session_configured` and as `sessionConfigured`.",
  answers:
    "`conversationId`, `model`, `reasoningEffort` if it is set, `rolloutPath`, and `initialMessages`: the stored events, at most the newest 8 MiB.",
  errors: [
    "`-32600` `conversation not found: {id}`",
    "`-32600` ``rollout path `{path}` must be in sessions directory``: it is outside CODEX_HOME, a link, or not a rollout",
    "`-32600` `error deriving config: …`",
    "`-32603` `error resuming conversation: …`: the file cannot be read",
  ],
  example: [
    {
      id: 3,
      method: "resumeConversation",
      params: { path: "/home/u/.codex/sessions/2025/09/26/rollout-….jsonl", overrides: { model: "gpt-6-luna" } },
    },
    {
      method: "codex/event",
      params: {
        id: "",
        msg: {
          type: "session_configured",
          session_id: "0199…a1",
          model: "gpt-6-luna",
          initial_messages: ["…"],
          rollout_path: "/home/u/.codex/sessions/…jsonl",
        },
      },
    },
    {
      id: 3,
      result: {
        conversationId: "0199…a1",
        model: "gpt-6-luna",
        rolloutPath: "/home/u/.codex/sessions/…jsonl",
        initialMessages: [
          { type: "user_message", message: "Hi", kind: "plain" },
          { type: "agent_message", message: "Hello" },
        ],
      },
    },
  ],
  async call({ path, conversationId, history, overrides }, { agent, ask, client }) {
    if (history !== undefined)
      throw new RpcError(
        RPC.invalidParams,
        "resumeConversation: `history` is not supported: name a saved conversation by `path` or `conversationId`",
      );
    const id = path === undefined ? conversationId : (await agent.threadAt(ask, path)).id;
    if (id === undefined) throw new RpcError(RPC.invalidParams, "resumeConversation: `path` or `conversationId` is needed");
    const cursor = agent.feed.now;
    const thread = await failing("error resuming conversation", agent.reopen(ask, id, overrides && askedSettings(overrides)));
    const shown = await failing("error resuming conversation", agent.shownOn(ask, id));
    client.begins(id, cursor);
    const { settings, recordPath } = thread;
    const [configured] = eventMsgs(
      { type: "threadConfigured", threadId: id, settings, recordPath },
      { threadId: id, turnId: turnIdOf("") },
    );
    // Each of the three messages may have 8 MiB: other callers are served before the next one is written.
    client.notify("codex/event", { id: "", msg: { ...configured, initial_messages: shown } });
    await loopTurn();
    const initialMessages = shown.filter(isPlain).map(oldUserMessage);
    const model = modelFields(settings);
    client.notify("sessionConfigured", {
      sessionId: id,
      ...model,
      historyLogId: 0,
      historyEntryCount: 0,
      initialMessages,
      rolloutPath: recordPath,
    });
    await loopTurn();
    return { conversationId: id, ...model, initialMessages, rolloutPath: recordPath };
  },
});

const CONTEXT = /^\s*<(environment_context|user_instructions)>[\s\S]*<\/\1>\s*$/i;

/** True for all events except user messages that hold only context. */
function isPlain({ type, kind, message }: ShownEvent): boolean {
  if (type !== "user_message") return true;
  return kind === "plain" || ((kind === undefined || kind === null) && !(typeof message === "string" && CONTEXT.test(message)));
}

/** How long archiving waits for a turn to stop. */
const STOP_MS = 10_000;

export const archiveConversation = defineMethod({
  name: "archiveConversation",
  scope: "call",
  params: z.object({ conversationId: ConversationId, rolloutPath: Words }),
  about:
    "Removes a conversation from the list: its rollout is moved to `archived_sessions`. A running turn is interrupted first and has ten seconds to end.",
  answers: "`{}`",
  errors: [
    "`-32600` `conversation not found: {id}`",
    "`-32600` ``rollout path `{path}` must be in sessions directory``: it is elsewhere, a link, missing, or already archived",
    "`-32600` ``rollout path `{path}` does not match conversation id {id}``",
    "`-32603` `failed to archive conversation: …`",
  ],
  example: [
    {
      id: 4,
      method: "archiveConversation",
      params: { conversationId: "0199…a1", rolloutPath: "/home/u/.codex/sessions/2025/09/26/rollout-2025-09-26T11-28-59-0199…a1.jsonl" },
    },
    { id: 4, result: {} },
  ],
  async call({ conversationId, rolloutPath }, context) {
    await failing("failed to archive conversation", checkArchivable(conversationId, rolloutPath, context));
    await endsWithin(STOP_MS, interrupt(conversationId, context));
    await failing("failed to archive conversation", context.agent.archive(context.ask, conversationId));
    return {};
  },
});

async function checkArchivable(id: ThreadId, named: string, { agent, ask }: MethodContext): Promise<void> {
  const refuse = (why: string) => new RpcError(RPC.invalidRequest, `rollout path \`${named}\` ${why}`);
  if (!named.endsWith(`${id}.jsonl`)) {
    // A mismatch is reported only if the file is a conversation that the caller may see.
    await agent.threadAt(ask, named);
    throw refuse(`does not match conversation id ${id}`);
  }
  const { path } = await agent.threadAt(ask, named);
  if (/[/\\]archived_sessions[/\\][^/\\]+$/.test(path)) throw refuse("must be in sessions directory");
}
