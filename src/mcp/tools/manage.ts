import { confirmation } from "../wording/callResult.js";
import { arg, defineTool, onThread, parseNamedThread, TURN_OUTPUT, textIfSilent } from "./tool.js";

/** Operations on a thread as a whole. */
export const manageTool = defineTool({
  name: "codex-manage",
  title: "Codex Manage",
  description:
    "Manages a thread. `stop`: ends its running turn and those queued behind it; it can be continued. `fork`: a new thread with the same history, to try something else. " +
    "`archive`/`unarchive`: out of the list and back. `compact`: replaces a long history by a summary (takes a minute).",
  input: {
    action: arg.choice(["stop", "fork", "archive", "unarchive", "compact"], "What to do."),
    threadId: arg.text("The thread."),
  },
  // `compact` is a turn; the other actions return the thread and a sentence.
  output: {
    type: "object",
    properties: TURN_OUTPUT.properties,
    required: ["threadId", "content"],
  },
  sets: ["codex"],
  order: 9,
  answers: "the thread's id, or the fork's; `compact` returns when the summary is complete",
  example: { action: "fork", threadId: "01a1deff-64d2-720b-95d7-1a4692eca0f5" },
  async call({ action, threadId: named }, { agent, ask }) {
    const threadId = parseNamedThread(named);
    switch (action) {
      case "stop":
        await agent.stop(ask, threadId);
        return confirmation(threadId, `Stopped thread ${threadId}. What it has done is kept: go on with codex-reply.`);
      case "fork": {
        const fork = await agent.fork(ask, threadId);
        return confirmation(fork, `Forked into thread ${fork}. Go on there with codex-reply.`);
      }
      case "archive":
        await agent.archive(ask, threadId);
        return confirmation(threadId, `Archived thread ${threadId}. \`unarchive\` puts it back into the list.`);
      case "unarchive":
        await agent.unarchive(ask, threadId);
        return confirmation(threadId, `Thread ${threadId} is back in the list. Go on with codex-reply.`);
      case "compact":
        return onThread(threadId, async () => {
          const turn = await agent.compact(ask, threadId);
          return { turn, ifSilent: textIfSilent(turn) };
        });
    }
  },
});
