import type { ThreadId } from "../../../lib/ids.js";
import type { Turn } from "../../../threads/turn.js";
import { arg, defineTool, type McpToolContext } from "../tool.js";
import { OPENOXIDE_OUTPUT, openoxideAnswer, parseOpenoxideThread } from "./openoxideResults.js";

/** A question to a read-only agent. */
export const openoxideQueryTool = defineTool({
  name: "openoxide-query",
  title: "OpenOxide Query",
  description:
    "Asks a question about code; nothing is changed and nobody is asked. With a thread_id the answer knows what was said there, " +
    "and that thread stays as it is: go on asking with the thread_id of the result.",
  input: {
    query: arg.text("The question, self-contained."),
    thread_id: arg.optional(arg.text("A thread whose history matters.")),
    cwd: arg.optional(arg.text("Absolute path of the folder to look at.")),
  },
  output: OPENOXIDE_OUTPUT,
  annotations: { readOnlyHint: true, destructiveHint: false, openWorldHint: true },
  sets: ["openoxide"],
  order: 3,
  answers: "the answer, and the `thread_id` for further questions",
  example: { query: "Where are dates parsed?", cwd: "." },
  async call({ query, thread_id: id, cwd }, context) {
    const { agent, ask, turnId } = context;
    if (id === undefined) return openoxideAnswer(await agent.begin(ask, { text: query }, { cwd, looksOnly: true, turnId }));
    return openoxideAnswer(await askOn(parseOpenoxideThread(id), { query, cwd }, context));
  },
});

/**
 * A thread that may write is forked, and the read-only copy answers. The question then changes nothing, and the original thread keeps its
 * permissions.
 */
async function askOn(
  id: ThreadId,
  { query, cwd }: { readonly query: string; readonly cwd: string | undefined },
  { agent, ask }: McpToolContext,
): Promise<Turn> {
  const { looksOnly = false } = await agent.settingsOf(ask, id);
  const asked = looksOnly ? id : await agent.fork(ask, id);
  return agent.replyWith(ask, asked, { text: query }, { looksOnly: true, ...(cwd !== undefined && { cwd }) });
}
