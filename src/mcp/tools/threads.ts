import { InvalidArguments } from "../../agent/errors.js";
import type { ThreadId } from "../../lib/ids.js";
import { parseThreadId } from "../../lib/uuid.js";
import type { ThreadPage } from "../../threads/store.js";
import { answer, type CallToolResult } from "../wording/callResult.js";
import { arg, defineTool } from "./tool.js";

const DEFAULT_LIMIT = 25;

/** The threads that are kept, those of other processes and of the Codex CLI included. */
export const threadsTool = defineTool({
  name: "codex-threads",
  title: "Codex Threads",
  description: "Lists, forks or archives threads.",
  input: {
    action: arg.choice(["list", "fork", "archive", "unarchive"], "What to do; all but `list` need `threadId`."),
    archived: arg.optional(arg.flag("List archived threads instead.")),
    cursor: arg.optional(arg.text("`nextCursor` of the page before.")),
    cwd: arg.optional(arg.text("List threads of this directory only.")),
    limit: arg.optional(arg.whole({ from: 1, to: 100 }, "Threads per page (25).")),
    search: arg.optional(arg.text("List threads that begin with a message holding this text.")),
    threadId: arg.optional(arg.text("The thread, as an answer named it.")),
  },
  annotations: { destructiveHint: false },
  sets: ["codex"],
  order: 6,
  answers: "a page of threads, newest first, or the thread's id",
  example: { action: "list", cwd: ".", limit: 1 },
  async call({ action, threadId: named, limit = DEFAULT_LIMIT, ...query }, { agent, ask }) {
    if (action === "list") return pageAnswer(await agent.list(ask, { ...query, limit }));
    const threadId = givenId(action, named);
    switch (action) {
      case "fork": {
        const fork = await agent.fork(ask, threadId);
        return answer(`Forked into thread ${fork}. Go on there with codex-reply.`, { threadId: fork });
      }
      case "archive":
        await agent.archive(ask, threadId);
        return answer(`Archived thread ${threadId}.`, { threadId });
      case "unarchive":
        await agent.unarchive(ask, threadId);
        return answer(`Thread ${threadId} is back in the list.`, { threadId });
    }
  },
});

function givenId(action: string, threadId: string | undefined): ThreadId {
  if (threadId === undefined) throw new InvalidArguments(`\`${action}\` needs \`threadId\`.`);
  return parseThreadId(threadId);
}

function pageAnswer({ threads, nextCursor }: ThreadPage): CallToolResult {
  const lines = threads.map(({ id, lastUsedAt, cwd, name, preview }) => `${id}  ${lastUsedAt}  ${cwd}  ${name ?? preview}`);
  const more = nextCursor === undefined ? [] : [`There are more: cursor ${nextCursor}`];
  const listed = [...lines, ...more].join("\n") || "No threads.";
  return answer(listed, { threads, ...(nextCursor !== undefined && { nextCursor }) });
}
