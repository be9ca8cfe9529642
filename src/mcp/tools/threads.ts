import type { Agent, Ask } from "../../agent/agent.js";
import { InvalidArguments } from "../../agent/errors.js";
import type { SilentEnd } from "../../agent/lastAnswer.js";
import type { ThreadId } from "../../lib/ids.js";
import { withoutMissingOutputs } from "../../threads/items.js";
import type { ThreadQuery, ThreadSummary } from "../../threads/store.js";
import { type TranscriptEntry, transcriptOf, transcriptPage } from "../../threads/transcript.js";
import { activityLine, type Standing, shownActivity } from "../wording/activity.js";
import { answer, type CallToolResult } from "../wording/callResult.js";
import { arg, defineTool, parseNamedThread } from "./tool.js";

const DEFAULT_LIMIT = 25;

const TEXT = { type: "string" };
const ACTIVITY = {
  state: { type: "string", enum: ["idle", "running", "waiting"] },
  ms: { type: "number" },
  doing: TEXT,
  queued: { type: "number" },
  approvals: {
    type: "array",
    items: { type: "object", properties: { id: TEXT, question: TEXT }, required: ["id", "question"] },
  },
};

/** The stored threads, including those of other processes and of the Codex CLI: their list, their state and their history. */
export const threadsTool = defineTool({
  name: "codex-threads",
  title: "Codex Threads",
  description:
    "Finds and reads threads, at once. `list` (default): newest first, each with its state (running what and for how long, waiting for an approval, idle). " +
    "`read`: what was said and done on `threadId`, by pages, the last turn first. Use it when a threadId is lost or an answer was cut.",
  input: {
    action: arg.optional(arg.choice(["list", "read"], "`read` if `threadId` is given.")),
    threadId: arg.optional(arg.text("Thread to read.")),
    cursor: arg.optional(arg.text("A cursor of the page before.")),
    search: arg.optional(arg.text("List: text in the first message.")),
    cwd: arg.optional(arg.text("List: threads of this folder.")),
    archived: arg.optional(arg.flag("List: archived ones.")),
    limit: arg.optional(arg.whole({ from: 1, to: 100 }, "List: threads per page (25).")),
  },
  output: {
    type: "object",
    properties: {
      threads: {
        type: "array",
        items: {
          type: "object",
          properties: { id: TEXT, preview: TEXT, name: TEXT, cwd: TEXT, startedAt: TEXT, lastUsedAt: TEXT, ...ACTIVITY },
          required: ["id", "preview", "cwd", "startedAt", "lastUsedAt", "state"],
        },
      },
      nextCursor: TEXT,
      threadId: TEXT,
      ...ACTIVITY,
      turn: { type: "number" },
      turns: { type: "number" },
      lastTurn: { type: "string", enum: ["failed", "interrupted"] },
      error: TEXT,
      entries: {
        type: "array",
        items: {
          type: "object",
          properties: { from: { type: "string", enum: ["user", "agent", "tool", "output"] }, text: TEXT },
          required: ["from", "text"],
        },
      },
      answerCursor: TEXT,
      earlierCursor: TEXT,
    },
  },
  annotations: { readOnlyHint: true, openWorldHint: false },
  sets: ["codex"],
  order: 6,
  answers: "a page of threads with their states, or a page of one thread",
  example: { action: "list", cwd: ".", limit: 1 },
  async call({ action, threadId: named, limit = DEFAULT_LIMIT, cursor, ...query }, { agent, ask }) {
    if (named === undefined) {
      if (action === "read") throw new InvalidArguments("`read` needs `threadId`. `list` shows the ids.");
      return listAnswer(agent, ask, { ...query, cursor, limit });
    }
    if (action === "list") throw new InvalidArguments("`threadId` is for `read`. Search the list with `search` or `cwd`.");
    return readAnswer(agent, ask, { threadId: parseNamedThread(named), cursor });
  },
});

async function listAnswer(agent: Agent, ask: Ask, query: ThreadQuery): Promise<CallToolResult> {
  const { threads, nextCursor } = await agent.list(ask, query);
  const activities = await standingsOf(
    threads.map(({ id }) => id),
    agent,
    ask,
  );
  const lines = threads.map((thread) => lineOf(thread, activities.get(thread.id)));
  const more = nextCursor === undefined ? [] : [`There are more: cursor ${nextCursor}`];
  return answer([...lines, ...more].join("\n") || "No threads.", {
    threads: threads.map((thread) => ({ ...shownThread(thread), ...shownActivity(activities.get(thread.id)) })),
    ...(nextCursor !== undefined && { nextCursor }),
  });
}

async function standingsOf(ids: readonly ThreadId[], agent: Agent, ask: Ask): Promise<ReadonlyMap<ThreadId, Standing>> {
  const standings = new Map<ThreadId, Standing>(await agent.activities(ask, ids));
  const idle = ids.filter((id) => {
    const standing = standings.get(id);
    return typeof standing === "object" && standing.state === "idle";
  });
  for (const id of await agent.busyElsewhere(idle)) standings.set(id, "elsewhere");
  return standings;
}

/** Without the path of the rollout file, which is internal to the server. */
function shownThread({ id, preview, cwd, startedAt, lastUsedAt, name }: ThreadSummary): Omit<ThreadSummary, "path"> {
  return { id, preview, cwd, startedAt, lastUsedAt, ...(name !== undefined && { name }) };
}

function lineOf({ id, lastUsedAt, cwd, name, preview }: ThreadSummary, activity: Standing | undefined): string {
  return `${id}  ${lastUsedAt}  ${activityLine(activity)}  ${cwd}  ${name ?? preview}`;
}

async function readAnswer(
  agent: Agent,
  ask: Ask,
  { threadId, cursor }: { readonly threadId: ThreadId; readonly cursor: string | undefined },
): Promise<CallToolResult> {
  const { items } = await agent.read(ask, threadId);
  const activity = (await standingsOf([threadId], agent, ask)).get(threadId);
  const isIdle = activity === undefined || (activity !== "elsewhere" && activity.state === "idle");
  const page = transcriptPage(await transcriptOf(isIdle ? items : withoutMissingOutputs(items)), cursor);
  const end = isIdle && page.turn === page.turns ? await agent.lastEnd(ask, threadId) : undefined;
  const broke = end?.how === "failed" || end?.how === "interrupted" ? end : undefined;
  const lines = [
    `Thread ${threadId}, turn ${page.turn} of ${page.turns}; ${activityLine(activity, { wholeQuestions: true })}`,
    ...(broke ? [brokenOff(broke)] : []),
    ...page.entries.map(spoken),
    ...(page.nextCursor === undefined ? [] : [`Next page: cursor ${page.nextCursor}`]),
    ...(page.answerCursor === undefined ? [] : [`The turn's last message: cursor ${page.answerCursor}`]),
    ...(page.earlierCursor === undefined ? [] : [`The turn before: cursor ${page.earlierCursor}`]),
  ];
  const ended = broke && { lastTurn: broke.how, ...(broke.how === "failed" && { error: broke.error }) };
  return answer(lines.join("\n"), { threadId, ...shownActivity(activity, { wholeQuestions: true }), ...ended, ...page });
}

/** What the agent said before that is no answer. */
function brokenOff(end: SilentEnd): string {
  return `This turn ${end.how === "failed" ? `failed: ${end.error}` : "was interrupted before it ended."}\nGo on with codex-reply.`;
}

function spoken({ from, text }: TranscriptEntry): string {
  return `[${from}] ${text}`;
}
