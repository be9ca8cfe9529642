import { type Deferred, deferred } from "../src/lib/promises.js";
import { DeltaMeter } from "./deltaMeter.js";
import { isRecord, type JsonRecord, LineRpc } from "./lineRpc.js";
import { type OpenSession, START_DEADLINE_MS, TURN_DEADLINE_MS } from "./session.js";

/** A client of `codex app-server`, in which a request starts a turn and a notification reports its end. */
export const openAppServerSession: OpenSession = async (server, workspace) => {
  const deltas = new DeltaMeter();
  const turns = new Map<string, RunningTurn>();
  const rpc = new LineRpc(server, (method, params) => {
    if (method === "item/agentMessage/delta") deltas.take(method, params.delta);
    else turns.get(String(params.threadId))?.take(method, params);
  });
  const clientInfo = { name: "bench", title: "bench", version: "1" };
  await rpc.request("initialize", { clientInfo }, { deadlineMs: START_DEADLINE_MS });
  rpc.notify("initialized");

  async function startThread(): Promise<string> {
    const settings = { cwd: workspace, approvalPolicy: "never", sandbox: "danger-full-access" };
    const started = await rpc.request("thread/start", settings, { deadlineMs: TURN_DEADLINE_MS });
    return isRecord(started) && isRecord(started.thread) ? String(started.thread.id) : "";
  }

  return {
    deltas,
    async turn({ threadId, prompt, expect }) {
      const id = threadId ?? (await startThread());
      const turn = new RunningTurn();
      turns.set(id, turn);
      try {
        await rpc.request("turn/start", { threadId: id, input: [{ type: "text", text: prompt }] }, { deadlineMs: TURN_DEADLINE_MS });
        const text = await turn.answer();
        if (!text.includes(expect)) throw new Error(`unexpected answer: ${text.slice(0, 300)}`);
        return id;
      } finally {
        turns.delete(id);
      }
    },
  };
};

class RunningTurn {
  readonly #over: Deferred<void> = deferred();
  #text = "";

  take(method: string, { item, turn }: JsonRecord): void {
    if (method === "item/completed" && isRecord(item) && item.type === "agentMessage") this.#text = String(item.text);
    if (method !== "turn/completed" || !isRecord(turn)) return;
    if (turn.status === "completed") this.#over.resolve();
    else this.#over.reject(new Error(`turn ${String(turn.status)}: ${JSON.stringify(turn.error)?.slice(0, 300)}`));
  }

  /** The answer's text, once the turn is over. */
  async answer(): Promise<string> {
    const timer = setTimeout(() => this.#over.reject(new Error(`turn not over in ${TURN_DEADLINE_MS} ms`)), TURN_DEADLINE_MS);
    await this.#over.promise.finally(() => clearTimeout(timer));
    return this.#text;
  }
}
