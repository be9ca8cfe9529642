// The options of all drivers, and the agent loop for libraries without one. Drivers are copied to the packages they use.

/** @type {{ readonly server: { readonly command: string, readonly args: string[], readonly env: Record<string, string>, readonly url?: string }, readonly model: string }} */
export const { server, model } = JSON.parse(process.env["CLIENT_RUN"] ?? "{}");

export const PROMPT = "Please do what you were told.";

/** Ctrl-C gives up the call that runs, as a program with an abort signal would. */
const interrupt = new AbortController();
process.on("SIGINT", () => interrupt.abort(new Error("interrupted by the user")));
export const { signal } = interrupt;

/** Accepts every question. */
export async function approve() {
  return { action: "accept", content: { decision: "approved" } };
}

/**
 * What was given up by Ctrl-C is no failure of the program.
 * @param {Promise<unknown>} work
 */
export async function unlessInterrupted(work) {
  await work.catch((error) => {
    if (!signal.aborted) throw error;
  });
}

/**
 * Asks the model what to do until it has nothing more. What a call returns is shown to it whole.
 * @param {readonly string[]} tools
 * @param {(name: string, args: Record<string, unknown>) => Promise<unknown>} call
 */
export async function converse(tools, call) {
  /** @type {unknown[]} */
  const messages = [{ role: "user", content: PROMPT }];
  while (!signal.aborted) {
    const answer = await fetch(`${model}/v1/chat/completions`, {
      method: "POST",
      body: JSON.stringify({ messages, tools: tools.map((name) => ({ type: "function", function: { name } })) }),
    });
    const { message } = (await answer.json()).choices[0];
    messages.push(message);
    const [wanted] = message.tool_calls ?? [];
    if (!wanted) return;
    const content = await call(wanted.function.name, JSON.parse(wanted.function.arguments)).then(JSON.stringify, String);
    messages.push({ role: "tool", tool_call_id: wanted.id, content });
  }
}
