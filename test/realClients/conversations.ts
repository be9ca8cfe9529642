import type { PlannedCall, Script } from "./clientModel.js";

const THREAD_ID = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const QUESTION_ID = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/;
const NOT_SHOWN = "no-id-was-shown";
/** After a call that ended before its turn, or that the client gave up, the model makes another one. */
const MOST_WAITS = 8;

export const ANSWERS = {
  first: "hello world",
  reply: "again",
  cause: "no such luck",
  mended: "after the failure",
  patched: "patched",
  wentOn: "went on",
  slept: "slept well",
  decided: "decided",
  later: "later",
} as const;

/** The thread that a result names to the model. Without one the next call fails, which the checks detect. */
export function threadIn(result: string | undefined): string {
  return result?.match(THREAD_ID)?.at(-1) ?? NOT_SHOWN;
}

export function showsThread(result: string | undefined): boolean {
  return threadIn(result) !== NOT_SHOWN;
}

/** What the steps of `work` test, in their order. */
export const WORK = ["first", "reply", "failure", "mended", "patch", "question", "long"] as const;

/** A task, a reply, a failure and the next call, a changed file, a question, a long answer. */
export function work({ outside }: { readonly outside: string }): Script {
  const steps: readonly ((results: readonly string[]) => PlannedCall)[] = [
    () => ({ tool: "codex", args: { prompt: `!say ${ANSWERS.first}` } }),
    ([first]) => ({ tool: "codex-reply", args: { threadId: threadIn(first), prompt: `!say ${ANSWERS.reply}` } }),
    () => ({ tool: "codex", args: { prompt: `!status 400 {"error":{"message":"${ANSWERS.cause}"}}` } }),
    (results) => ({ tool: "codex-reply", args: { threadId: threadIn(results[2]), prompt: `!say ${ANSWERS.mended}` } }),
    () => ({
      tool: "codex",
      args: { prompt: `!patch made.txt hi\n!say ${ANSWERS.patched}`, sandbox: "workspace-write", "approval-policy": "never" },
    }),
    () => ({ tool: "codex", args: { prompt: `!escalate touch ${outside}\n!say ${ANSWERS.wentOn}`, "approval-policy": "on-request" } }),
    () => ({ tool: "codex", args: { prompt: "!tokens 30000" } }),
  ];
  return (results) => steps[results.length]?.(results);
}

/** A reply on a thread of an earlier run of the client. */
export function again(threadId: string): Script {
  return (results) => (results.length === 0 ? { tool: "codex-reply", args: { threadId, prompt: `!say ${ANSWERS.later}` } } : undefined);
}

/** A turn of this length, continued as each result tells the model. */
export function long(seconds: number): Script {
  const task = { tool: "codex", args: { prompt: `!delay ${seconds * 1000}\n!say ${ANSWERS.slept}` } };
  return (results) => {
    const last = results.at(-1);
    if (last === undefined) return task;
    if (last.includes(ANSWERS.slept) || results.length > MOST_WAITS) return undefined;
    // A client that gave up has not shown an id; the same task again joins the running turn.
    return showsThread(last) ? { tool: "codex-wait", args: { threadId: threadIn(last) } } : task;
  };
}

/** A question that waits for a tool: the model answers it there, and waits for the turn. */
export function held({ outside }: { readonly outside: string }): Script {
  return (results) => {
    const [first, , third] = results;
    if (first === undefined) {
      const prompt = `!escalate touch ${outside}\n!say ${ANSWERS.decided}`;
      return { tool: "codex", args: { prompt, "approval-policy": "on-request" } };
    }
    if (first.includes(ANSWERS.decided) || third !== undefined) return undefined;
    if (results.length === 2) return { tool: "codex-wait", args: { threadId: threadIn(first) } };
    return { tool: "codex-answer", args: { id: QUESTION_ID.exec(first)?.[0] ?? NOT_SHOWN, decision: "approve" } };
  };
}

/** A command that runs until it is ended. */
export function endless(seconds: number): Script {
  return (results) => (results.length === 0 ? { tool: "codex", args: { prompt: `!shell sleep ${seconds}\n!say over` } } : undefined);
}
