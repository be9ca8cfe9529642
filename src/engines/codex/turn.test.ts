import { describe, expect, it } from "vitest";
import { eventually } from "../../../test/support/eventually.js";
import { valueAt } from "../../../test/support/scenarios/scenario.js";
import { settingsIn } from "../../../test/support/threads/rollouts.js";
import { turnContext, typesOf } from "../../../test/support/threads/turns.js";
import type { ApprovalDecision, ApprovalSubject } from "../../approvals/model.js";
import { RpcError } from "../../jsonrpc/errors.js";
import { type Deferred, deferred } from "../../lib/promises.js";
import type { ThreadEvent, TurnInput } from "../../threads/events.js";
import { AppServerGone, AppServerSilent } from "./appServer/errors.js";
import { ThreadMemory } from "./translate/threadMemory.js";
import { TurnTranslator } from "./translate/turnTranslator.js";
import { CodexTurn } from "./turn.js";

const SETTINGS = settingsIn("/ws");
const GUARD = { reach: undefined, loadIn: "/ws", config: {}, withoutGit: false, release: () => {} };
const NO_AGENTS: { atWork: readonly string[]; threadIds: readonly string[]; checkDue: () => Promise<void> } = {
  atWork: [],
  threadIds: [],
  checkDue: async () => {},
};
const CLEAN = "thread/backgroundTerminals/clean";
const COMPLETED = ["turn/completed", { turn: { id: "t1", status: "completed", items: [] } }] as const;
const INTERRUPTED = ["turn/completed", { turn: { id: "t1", status: "interrupted", items: [] } }] as const;

function userSays(id: string): readonly [string, unknown] {
  return ["item/started", { turnId: "t1", item: { type: "userMessage", id, content: [{ type: "text", text: "x" }] } }];
}

/** A Codex that does nothing by itself. It accepts a turn when the test says so, and everything else at once. */
class IdleCodex {
  readonly asked: string[] = [];
  readonly killed: string[] = [];
  takesNothing = false;
  readonly isGone = false;
  #accepted: Deferred<unknown> = deferred();

  readonly said: unknown[] = [];

  async request(method: string, params?: unknown): Promise<unknown> {
    this.asked.push(method);
    if (method === "turn/steer" && this.takesNothing) throw new RpcError(-32600, "it is not the time");
    if (method === "turn/steer") this.said.push(valueAt(params, "input.0.text"));
    if (method !== "turn/start") return {};
    this.#accepted = deferred();
    return this.#accepted.promise;
  }

  async checkAlive(): Promise<void> {}

  async kill(reason: string): Promise<void> {
    this.killed.push(reason);
  }

  accept(): void {
    this.#accepted.resolve({ turn: { id: "t1" } });
  }

  refuse(error: Error): void {
    this.#accepted.reject(error);
  }
}

interface PlayOptions {
  readonly input?: TurnInput;
  readonly ask?: (subject: ApprovalSubject, withdrawn: AbortSignal | undefined) => Promise<ApprovalDecision>;
  readonly agents?: typeof NO_AGENTS;
}

function begin({ input = { text: "go" }, ask, agents = NO_AGENTS }: PlayOptions = {}) {
  const codex = new IdleCodex();
  const interruption = new AbortController();
  const afterwards: Promise<unknown>[] = [];
  const ctx = { ...turnContext(interruption.signal), ...(ask && { ask }) };
  const turn = new CodexTurn(input, ctx, {
    thread: { server: codex, codexThreadId: "thread", settings: SETTINGS, guard: GUARD, canCleanTerminals: true },
    agents,
    needsNobody: async () => false,
    translator: new TurnTranslator({ memory: new ThreadMemory(), settings: SETTINGS, sandboxBackend: "codex" }),
    afterwards: (work) => afterwards.push(work),
  });
  return { codex, turn, batches: turn.run(), interrupt: () => interruption.abort(), afterwards };
}

/** A turn with a reader from its beginning. */
function play(options?: PlayOptions) {
  const { batches, ...begun } = begin(options);
  const events = (async () => {
    const all: ThreadEvent[] = [];
    for await (const batch of batches) all.push(...batch);
    return all;
  })();
  return { ...begun, events };
}

async function endOf(events: Promise<readonly ThreadEvent[]>): Promise<ThreadEvent | undefined> {
  return (await events).at(-1);
}

describe("a turn of Codex", () => {
  it("ends as Codex reports, and leaves nothing to be stopped", async () => {
    const { codex, turn, events, afterwards } = play();
    codex.accept();
    turn.notified(...COMPLETED);
    expect(typesOf(await events)).toEqual(["mcpStartupCompleted", "turnStarted", "turnContext", "turnCompleted"]);
    expect([turn.isOver, codex.asked, afterwards]).toEqual([true, ["turn/start"], []]);
  });

  it("fails if Codex refuses it, and is not stopped", async () => {
    const { codex, turn, events } = play();
    codex.refuse(new RpcError(-32600, "no model"));
    expect(await endOf(events)).toEqual({ type: "turnFailed", message: "Codex refused the turn: no model", info: "other" });
    expect([turn.isOver, codex.asked]).toEqual([true, ["turn/start"]]);
  });

  it("that was not accepted in time may run anyway, and is stopped", async () => {
    const { codex, turn, events } = play();
    codex.refuse(new AppServerSilent("Codex did not answer."));
    await eventually("the interruption", () => codex.asked.includes("turn/interrupt") || undefined);
    turn.notified(...INTERRUPTED);
    expect(await endOf(events)).toEqual({ type: "turnFailed", message: "Codex did not answer.", info: "other" });
    expect(codex.asked).toEqual(["turn/start", "turn/interrupt", "thread/backgroundTerminals/clean"]);
  });

  it("is interrupted after Codex has accepted it, even if the interrupt came first", async () => {
    const { codex, turn, events, interrupt, afterwards } = play();
    interrupt();
    expect(codex.asked).toEqual(["turn/start"]);
    codex.accept();
    await eventually("the interruption", () => codex.asked.includes("turn/interrupt") || undefined);
    expect([turn.isOver, await turn.steer("more")]).toEqual([false, false]);
    turn.notified(...INTERRUPTED);
    expect(await endOf(events)).toEqual({ type: "turnAborted", reason: "interrupted" });
    await Promise.all(afterwards);
    expect(codex.asked.filter((method) => method === "thread/backgroundTerminals/clean")).toHaveLength(1);
  });

  it("without followers is stopped", async () => {
    const { codex, turn, batches } = begin();
    const first = batches.next();
    codex.accept();
    turn.notified("turn/started", { turn: { id: "t1" } });
    await first;
    await batches.return(undefined);
    await eventually("the interruption", () => codex.asked.includes("turn/interrupt") || undefined);
    expect(turn.isOver).toBe(true);
    turn.notified(...INTERRUPTED);
  });

  it("continues when the model has not seen the user's last message", async () => {
    const { codex, turn, events } = play();
    codex.accept();
    for (const id of ["u1", "u2"]) turn.notified(...userSays(id));
    turn.notified(...COMPLETED);
    expect([turn.isOver, codex.asked]).toEqual([false, ["turn/start", "turn/start"]]);
    codex.accept();
    turn.notified(...COMPLETED);
    expect(await endOf(events)).toEqual({ type: "turnCompleted", lastMessage: null });
  });

  it("that Codex ends before its agents is awaited, and continues with their results", async () => {
    const agents = { ...NO_AGENTS, atWork: ["helper"], threadIds: ["a1"] };
    const { codex, turn, events } = play({ agents });
    codex.accept();
    turn.notified(...COMPLETED);
    expect([turn.isOver, codex.asked]).toEqual([false, ["turn/start"]]);
    agents.atWork = [];
    turn.agentsSettled();
    expect(codex.asked).toEqual(["turn/start", "turn/start"]);
    codex.accept();
    turn.agentsSettled();
    turn.notified(...COMPLETED);
    expect(await endOf(events)).toEqual({ type: "turnCompleted", lastMessage: null });
    expect(codex.asked).toEqual(["turn/start", "turn/start"]);
    expect(await events).toContainEqual({ type: "backgroundNote", message: "Waiting for agents that are still at work: helper" });
  });

  it("that is a review ends with the last of its agents", async () => {
    const agents = { ...NO_AGENTS, atWork: ["helper"] };
    const target = { type: "custom", instructions: "look" } as const;
    const { codex, turn, events } = play({ agents, input: { text: "", work: { kind: "review", target } } });
    await eventually("the review", () => codex.asked.includes("review/start") || undefined);
    turn.notified(...COMPLETED);
    expect(turn.isOver).toBe(false);
    agents.atWork = [];
    turn.agentsSettled();
    expect(await endOf(events)).toEqual({ type: "turnCompleted", lastMessage: null });
    expect(codex.asked).toEqual(["thread/settings/update", "review/start"]);
  });

  it("that waits for its agents treats further input as a new turn", async () => {
    const agents = { ...NO_AGENTS, atWork: ["helper"] };
    const { codex, turn, events } = play({ agents });
    codex.accept();
    turn.notified(...COMPLETED);
    const steered = turn.steer("more");
    turn.notified("turn/started", { turn: { id: "t2" } });
    codex.accept();
    expect(await steered).toBe(true);
    agents.atWork = [];
    turn.agentsSettled();
    turn.notified("turn/completed", { turn: { id: "t2", status: "completed", items: [] } });
    expect(await endOf(events)).toEqual({ type: "turnCompleted", lastMessage: null });
    expect(codex.asked).toEqual(["turn/start", "turn/start"]);
  });

  it.each<[string, readonly [string, unknown], string]>([
    ["fails", ["turn/completed", { turn: { id: "t1", status: "failed", error: { message: "no" }, items: [] } }] as const, "turnFailed"],
    ["is interrupted", INTERRUPTED, "turnAborted"],
  ])("that %s ends its agents before its end is reported", async (_how, completed, end) => {
    const { codex, turn, events } = play({ agents: { ...NO_AGENTS, atWork: ["helper"], threadIds: ["a1"] } });
    codex.accept();
    turn.notified(...completed);
    expect(await endOf(events)).toMatchObject({ type: end });
    expect(codex.asked).toEqual(["turn/start", CLEAN, "turn/interrupt", CLEAN]);
  });

  it("continues with the turns that Codex begins for a goal, until that is reached", async () => {
    const { codex, turn, events } = play();
    const goal = (status: string) => turn.notified("thread/goal/updated", { goal: { status } });
    codex.accept();
    goal("active");
    turn.notified(...COMPLETED);
    expect(turn.isOver).toBe(false);
    turn.notified("turn/started", { turn: { id: "t2" } });
    goal("complete");
    turn.notified("turn/completed", { turn: { id: "t2", status: "completed", items: [] } });
    expect(await endOf(events)).toEqual({ type: "turnCompleted", lastMessage: null });
    expect(codex.asked).toEqual(["turn/start"]);
  });

  it("pauses its goal when it is stopped", async () => {
    const { codex, turn, events, interrupt } = play();
    codex.accept();
    turn.notified("thread/goal/updated", { goal: { status: "active" } });
    interrupt();
    await eventually("the interruption", () => codex.asked.includes("turn/interrupt") || undefined);
    turn.notified(...INTERRUPTED);
    expect(await endOf(events)).toEqual({ type: "turnAborted", reason: "interrupted" });
    expect(codex.asked.slice(0, 3)).toEqual(["turn/start", "thread/goal/set", "turn/interrupt"]);
  });

  it("fails when its process is gone; later messages have no effect", async () => {
    const { codex, turn, events } = play();
    codex.accept();
    turn.lost(new AppServerGone("It crashed."));
    turn.notified(...COMPLETED);
    expect(await endOf(events)).toEqual({ type: "turnFailed", message: "It crashed. The thread can be continued.", info: "other" });
  });

  it("accepts further input while it runs, and none if it is a review or over", async () => {
    const { codex, turn, events } = play();
    codex.accept();
    expect(await turn.steer("more")).toBe(true);
    turn.notified(...COMPLETED);
    await events;
    expect([await turn.steer("more"), codex.asked]).toEqual([false, ["turn/start", "turn/steer"]]);
    const review = play({ input: { text: "", work: { kind: "compact" } } });
    expect(await review.turn.steer("more")).toBe(false);
    review.turn.lost(new AppServerGone("It crashed."));
    await review.events;
  });

  it.for([
    [{ kind: "denied", reason: "use mv", by: "elicitation" }, "The user did not allow `rm a`, and says: use mv"],
    [{ kind: "denied", reason: "nobody can be asked", by: "fallback" }, "Nobody rejected `rm a`; it was not approved: nobody can be asked"],
    [{ kind: "denied", by: "elicitation" }, undefined],
    [{ kind: "approved", by: "elicitation" }, undefined],
    [{ kind: "abort", by: "elicitation" }, undefined],
  ] as const)("answered with %j tells its model %j, before Codex has the answer", async ([decision, remark]) => {
    const { codex, turn, events } = play({ ask: async () => decision });
    codex.accept();
    const request = { id: 7, method: "item/commandExecution/requestApproval", params: { itemId: "c1", command: "rm a" } };
    const saidBefore = turn.asked(request).then(() => [...codex.said]);
    expect(await saidBefore).toEqual(remark === undefined ? [] : [remark]);
    turn.notified(...COMPLETED);
    await events;
  });

  it("is denied even if Codex refuses the text about it", async () => {
    const { codex, turn, events } = play({ ask: async () => ({ kind: "denied", reason: "no" }) });
    codex.accept();
    codex.takesNothing = true;
    const request = { id: 7, method: "item/commandExecution/requestApproval", params: { itemId: "c1", command: "rm a" } };
    expect(await turn.asked(request)).toEqual({ decision: "decline" });
    turn.notified(...COMPLETED);
    await events;
  });

  it("withdraws its open questions when it ends, as denials to Codex", async () => {
    const asked = deferred<AbortSignal | undefined>();
    const { codex, turn, events } = play({
      ask: (_subject, withdrawn) => {
        asked.resolve(withdrawn);
        return new Promise<never>((_, reject) => withdrawn?.addEventListener("abort", () => reject(withdrawn.reason), { once: true }));
      },
    });
    codex.accept();
    const request = { id: 7, method: "item/commandExecution/requestApproval", params: { itemId: "c1", command: "ls" } };
    const answer = turn.asked(request);
    const withdrawn = await asked.promise;
    turn.notified(...COMPLETED);
    await events;
    expect(withdrawn?.aborted).toBe(true);
    expect(await answer).toEqual({ decision: "decline" });
    await expect(turn.asked(request)).rejects.toThrow("the turn is over");
  });
});
