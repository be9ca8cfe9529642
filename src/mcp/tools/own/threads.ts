import type { Caller } from "../../../agent/caller.js";
import { SealedCursors } from "../../../agent/sealedCursors.js";
import { type PageReader, visibleThreads } from "../../../agent/threadList.js";
import type { ThreadId } from "../../../lib/ids.js";
import { parseThreadId } from "../../../lib/uuid.js";
import type { ThreadPage, ThreadQuery } from "../../../threads/store.js";
import type { Call } from "../../call.js";
import type { CallToolResult } from "../../wording/callResult.js";
import type { Agent } from "../agent.js";
import { InvalidArguments, parseArguments, type ToolStruct } from "../arguments.js";
import schemas from "../schemas.generated.json" with { type: "json" };
import type { ThreadsArguments } from "../schemas.js";
import type { ToolAction } from "../tool.js";
import { answer, PROMPTLY, refusing, servicesOf } from "./answers.js";
import { within } from "./within.js";

const ARGUMENTS: ToolStruct<ThreadsArguments> = { schema: schemas.threadsInput, tool: "codex-threads" };
const DEFAULT_LIMIT = 25;

/** `codex-threads`: the threads that are kept, those of other processes and of the Codex CLI included. */
export function threadsTool(agent: Agent): ToolAction {
  const cursors = new SealedCursors();
  return refusing((args, call) => {
    const asked = parseArguments(args, ARGUMENTS);
    return within(PROMPTLY, call, async (signal) => {
      switch (asked.action) {
        case "list":
          return toldPage(await list(agent, queryOf(asked, agent, call), { caller: call.caller, cursors, signal }));
        case "fork":
          return fork(agent, idIn(asked), call);
        case "archive":
          return archive(agent, idIn(asked), call);
        case "unarchive":
          return unarchive(agent, idIn(asked), call);
      }
    });
  });
}

function queryOf({ cwd, cursor, archived, search, limit = DEFAULT_LIMIT }: ThreadsArguments, agent: Agent, { caller }: Call): ThreadQuery {
  return { limit, cursor, archived, search, ...(cwd !== undefined && { cwd: agent.settingsFor({ cwd }, caller).cwd }) };
}

function idIn({ action, threadId }: ThreadsArguments): ThreadId {
  if (threadId === undefined) throw new InvalidArguments(`\`${action}\` needs \`threadId\`.`);
  return parseThreadId(threadId);
}

async function list(
  agent: Agent,
  query: ThreadQuery,
  { caller, ...reader }: Omit<PageReader, "caller"> & { readonly caller: Caller | undefined },
): Promise<ThreadPage> {
  return caller ? visibleThreads(agent, query, { caller, ...reader }) : (await servicesOf(agent)).threads.list(query);
}

async function fork(agent: Agent, id: ThreadId, call: Call): Promise<CallToolResult> {
  const limits = agent.limitsOf(call.caller);
  const threadId = await agent.access.using(id, call, async () => {
    // An engine may open the thread for it, in its folder and with its servers.
    if (limits) await agent.threads.check(id, limits);
    return (await servicesOf(agent)).threads.fork(id);
  });
  await agent.access.claim(threadId, call);
  return answer(`Forked into thread ${threadId}. Go on there with codex-reply.`, { threadId });
}

async function archive(agent: Agent, threadId: ThreadId, call: Call): Promise<CallToolResult> {
  await agent.access.using(threadId, call, () =>
    agent.threads.putAway(threadId, async () => (await servicesOf(agent)).threads.archive(threadId)),
  );
  return answer(`Archived thread ${threadId}.`, { threadId });
}

async function unarchive(agent: Agent, threadId: ThreadId, call: Call): Promise<CallToolResult> {
  await agent.access.using(threadId, call, async () => (await servicesOf(agent)).threads.unarchive(threadId));
  return answer(`Thread ${threadId} is back in the list.`, { threadId });
}

function toldPage({ threads, nextCursor }: ThreadPage): CallToolResult {
  const lines = threads.map(({ id, lastUsedAt, cwd, name, preview }) => `${id}  ${lastUsedAt}  ${cwd}  ${name ?? preview}`);
  const more = nextCursor === undefined ? [] : [`There are more: cursor ${nextCursor}`];
  const text = [...lines, ...more].join("\n") || "No threads.";
  return answer(text, { threads, ...(nextCursor !== undefined && { nextCursor }) });
}
