import { readdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it, vi } from "vitest";
import { type Answer, type AskOptions, FORMS, resultIn, StatelessClient, TASKS } from "../../../test/support/clients/statelessClient.js";
import { eventually } from "../../../test/support/eventually.js";
import { valueAt } from "../../../test/support/scenarios/scenario.js";
import { tempHome } from "../../../test/support/threads/rollouts.js";
import { newThreadId, turnIdOf } from "../../lib/ids.js";
import { VERSION } from "../../lib/version.js";
import { TASK_TTL_MS, type TaskStore } from "../../tasks/taskStore.js";
import { Turn } from "../../threads/turn.js";
import type { Work } from "./followedTurn.js";
import { TaskRegistry } from "./taskRegistry.js";

const SERVER = { "io.modelcontextprotocol/serverInfo": { name: "codex-mcp-server", title: "Codex", version: VERSION } };
const ASKS = { capabilities: { ...FORMS, ...TASKS } } as const;
const ASKING = { prompt: "!shell touch made.txt", "approval-policy": "untrusted", sandbox: "workspace-write" };
const APPROVED = { action: "accept", content: { decision: "approved" } };
const UNKNOWN = { error: { code: -32602, message: "there is no such task" } };
const TIME = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);
const BASICS = { createdAt: TIME, lastUpdatedAt: TIME, ttlMs: TASK_TTL_MS, pollIntervalMs: 1_000, _meta: SERVER };

async function begin(client: StatelessClient, args: Form, principal?: string): Promise<string> {
  const handle = resultIn(await client.call(args, asked(principal)));
  expect(handle["resultType"]).toBe("task");
  return String(handle["taskId"]);
}

/** A task that waits for its client's input. */
async function beginAsking(client: StatelessClient, principal?: string): Promise<string> {
  const taskId = await begin(client, ASKING, principal);
  await until(client, taskId, "input_required", principal);
  return taskId;
}

function get(client: StatelessClient, taskId: string, principal?: string): Promise<Answer> {
  return client.ask("tasks/get", { taskId }, asked(principal));
}

function asked(principal: string | undefined): AskOptions {
  return principal === undefined ? ASKS : { ...ASKS, principal };
}

type Form = Readonly<Record<string, unknown>>;

/** Polls, as clients do, until the task has this status or matches. */
async function until(
  client: StatelessClient,
  taskId: string,
  wanted: string | ((form: Form) => boolean),
  principal?: string,
): Promise<Form> {
  return vi.waitFor(
    async () => {
      const form = resultIn(await get(client, taskId, principal));
      if (typeof wanted === "string" ? form["status"] !== wanted : !wanted(form)) throw new Error(`the task is ${JSON.stringify(form)}`);
      return form;
    },
    { timeout: 45_000, interval: 10 },
  );
}

describe("a call of a client that supports tasks", () => {
  it("is answered at once if it ends soon", async () => {
    await using client = new StatelessClient();
    expect(resultIn(await client.call({}, ASKS))).toMatchObject({ resultType: "complete", isError: true });
    const turn = new Turn(newThreadId(), turnIdOf("0"), { text: "" });
    turn.publish([{ type: "turnFailed", message: "no login", info: "other" }]);
    await using failing = new StatelessClient({ action: async () => ({ turn }) });
    const result = { structuredContent: { content: "no login", status: "failed" }, isError: true };
    expect(resultIn(await failing.call({ prompt: "" }, ASKS))).toMatchObject({ ...result, resultType: "complete", _meta: SERVER });
  });

  it("becomes a task if it takes long; the task has its progress and finally its result", async () => {
    await using client = new StatelessClient();
    const handle = resultIn(await client.call({ prompt: "!shell sleep 2" }, { ...ASKS, meta: { progressToken: 1 } }));
    const taskId = String(handle["taskId"]);
    expect(handle).toEqual({ resultType: "task", taskId, status: "working", statusMessage: expect.any(String), ...BASICS });
    const running = await until(client, taskId, ({ statusMessage }) => statusMessage === "Running sleep 2");
    expect(running).toEqual({ resultType: "complete", taskId, status: "working", statusMessage: "Running sleep 2", ...BASICS });
    const done = await until(client, taskId, "completed");
    expect(done).toEqual({
      resultType: "complete",
      taskId,
      status: "completed",
      result: expect.objectContaining({
        structuredContent: expect.objectContaining({ threadId: expect.any(String), content: "done", status: "completed" }),
      }),
      ...BASICS,
    });
    // Until the call becomes a task, its progress belongs to the call.
    expect(new Set(client.told.map(({ method }) => method))).toEqual(new Set(["notifications/progress"]));
  });

  it("with a question becomes a task that waits for the answer and then continues", async () => {
    await using client = new StatelessClient();
    const taskId = await beginAsking(client);
    const asking = resultIn(await get(client, taskId));
    expect(asking).toEqual({
      resultType: "complete",
      taskId,
      status: "input_required",
      statusMessage: "Waiting for approval to run touch made.txt",
      inputRequests: { "approval-1": { method: "elicitation/create", params: expect.objectContaining({ mode: "form" }) } },
      ...BASICS,
    });
    expect(resultIn(await get(client, taskId))["inputRequests"]).toEqual(asking["inputRequests"]);
    const update = { taskId, inputResponses: { "approval-1": APPROVED, "approval-9": APPROVED } };
    expect(await client.ask("tasks/update", update, ASKS)).toEqual({ result: { resultType: "complete", _meta: SERVER } });
    expect(valueAt(await until(client, taskId, "completed"), "result.structuredContent.content")).toBe("done");
    expect(readdirSync(client.agent.folder)).toContain("made.txt");
  });

  it("with several questions accepts their answers one by one", async () => {
    await using client = new StatelessClient();
    const taskId = await begin(client, { ...ASKING, prompt: "!both touch a.txt || touch b.txt\n!-\n!say finished" });
    for (let answered = 0; answered < 2; answered++) {
      const { inputRequests } = await until(client, taskId, "input_required");
      const [key = ""] = Object.keys(inputRequests as object);
      await client.ask("tasks/update", { taskId, inputResponses: { [key]: APPROVED } }, ASKS);
      expect(Object.keys((resultIn(await get(client, taskId))["inputRequests"] as object | undefined) ?? {})).not.toContain(key);
    }
    expect(valueAt(await until(client, taskId, "completed"), "result.structuredContent.content")).toBe("finished");
  });

  it("can be cancelled, even twice", async () => {
    await using client = new StatelessClient();
    const taskId = await begin(client, { prompt: "!hang" });
    for (let times = 0; times < 2; times++)
      expect(await client.ask("tasks/cancel", { taskId }, ASKS)).toEqual({ result: { resultType: "complete", _meta: SERVER } });
    expect(await until(client, taskId, "cancelled")).toEqual({ resultType: "complete", taskId, status: "cancelled", ...BASICS });
    expect(await client.ask("tasks/cancel", { taskId }, ASKS)).toEqual({ result: { resultType: "complete", _meta: SERVER } });
  });

  it("that fails is a completed task whose result says so", async () => {
    await using client = new StatelessClient();
    const taskId = await begin(client, { prompt: "!shell sleep 2\n!status 400 no" });
    expect(await until(client, taskId, "completed")).toMatchObject({ result: { isError: true } });
  });

  it("continues without its client once it is a task; before that it ends", async () => {
    await using client = new StatelessClient();
    const kept = new AbortController();
    const handle = resultIn(await client.call(ASKING, { ...ASKS, signal: kept.signal }));
    kept.abort(new Error("gone"));
    await until(client, String(handle["taskId"]), "input_required");
    const abort = new AbortController();
    const call = client.call({ prompt: "!hang" }, { ...ASKS, signal: abort.signal });
    abort.abort(new Error("gone"));
    expect(resultIn(await call)).toMatchObject({ isError: true });
  });

  it("is answered as for other clients if no task can be stored", async () => {
    using full = tempHome();
    writeFileSync(path.join(full.path, "mcp-server"), "in the way");
    await using client = new StatelessClient({ tasksIn: full.path });
    expect(resultIn(await client.call(ASKING, ASKS))).toMatchObject({ resultType: "input_required", requestState: expect.any(String) });
    expect(client.agent.reported).toEqual([expect.stringContaining("a call could not become a task: Cannot keep the task in")]);
  });
});

describe("a task", () => {
  it("of another principal is not found", async () => {
    await using client = new StatelessClient();
    const taskId = await beginAsking(client, "ada");
    for (const method of ["tasks/get", "tasks/cancel", "tasks/update"])
      expect(await client.ask(method, { taskId, inputResponses: { "approval-1": APPROVED } }, { ...ASKS, principal: "bob" })).toEqual(
        UNKNOWN,
      );
    expect(resultIn(await get(client, taskId, "ada"))).toMatchObject({ status: "input_required" });
    await client.ask("tasks/cancel", { taskId }, { ...ASKS, principal: "ada" });
    await client.agent.open.settle();
    await client.server.settle();
    expect(await get(client, taskId, "bob")).toEqual(UNKNOWN);
    expect(resultIn(await get(client, taskId, "ada"))).toMatchObject({ status: "cancelled" });
  });

  it.each([
    ["an id that nobody has", { taskId: "nothing" }, UNKNOWN],
    ["no id", {}, { error: { code: -32602, message: "tasks/get: `taskId` must be a string" } }],
  ])("is not found for %s", async (_, params, answer) => {
    await using client = new StatelessClient();
    expect(await client.ask("tasks/get", params, ASKS)).toEqual(answer);
  });

  it("is not visible to clients that do not declare the extension", async () => {
    await using client = new StatelessClient();
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"])
      expect(await client.ask(method, { taskId: "x", inputResponses: {} })).toMatchObject({
        error: { code: -32021, data: { requiredCapabilities: TASKS } },
      });
    for (const method of ["tasks/result", "tasks/list"])
      expect(await client.ask(method, {}, ASKS)).toMatchObject({ error: { code: -32601 } });
  });

  it("accepts only an object as answers", async () => {
    await using client = new StatelessClient();
    expect(await client.ask("tasks/update", { taskId: "x" }, ASKS)).toMatchObject({ error: { code: -32602 } });
  });

  it("that ended is known to the next server, even if it was interrupted", async () => {
    using home = tempHome();
    let finished = "";
    let stopped = "";
    {
      await using client = new StatelessClient({ codexHome: home.path });
      finished = await begin(client, { prompt: "!shell sleep 1.5" });
      stopped = await begin(client, { prompt: "!hang" });
      await until(client, finished, "completed");
    }
    await using later = new StatelessClient({ codexHome: home.path });
    expect(resultIn(await get(later, finished))).toMatchObject({ status: "completed", result: { structuredContent: { content: "done" } } });
    const interrupted = resultIn(await get(later, stopped));
    expect(interrupted).toMatchObject({
      status: "completed",
      result: { isError: true, structuredContent: { threadId: expect.any(String) } },
    });
    expect(valueAt(interrupted, "result.content.0.text")).toContain("interrupted");
    expect(await later.ask("tasks/cancel", { taskId: stopped }, ASKS)).toEqual({ result: { resultType: "complete", _meta: SERVER } });
  });

  it("that runs in another process of the server is known, and must be requested there", async () => {
    using home = tempHome();
    await using here = new StatelessClient({ codexHome: home.path });
    await using there = new StatelessClient({ codexHome: home.path });
    const taskId = await begin(there, { prompt: "!hang" });
    expect(resultIn(await get(here, taskId))).toMatchObject({ status: "working" });
    expect(await here.ask("tasks/cancel", { taskId }, ASKS)).toMatchObject({
      error: { code: -32602, message: expect.stringContaining("another process") },
    });
  });
});

describe("a client that listens to its tasks", () => {
  it("gets the state of each task at once, then every change, under the id of its request", async () => {
    await using client = new StatelessClient();
    const taskId = await beginAsking(client);
    const abort = new AbortController();
    const wanted = { notifications: { taskIds: [taskId, "unknown"], toolsListChanged: true, promptsListChanged: true } };
    const listening = client.ask("subscriptions/listen", wanted, { ...ASKS, id: "sub", signal: abort.signal });
    await client.until(() => client.heard("notifications/tasks")[0]);
    await client.ask("tasks/update", { taskId, inputResponses: { "approval-1": APPROVED } }, ASKS);
    await client.until(() => client.heard("notifications/tasks").find(({ status }) => status === "completed"));
    expect(client.told[0]).toEqual({
      method: "notifications/subscriptions/acknowledged",
      params: { notifications: { toolsListChanged: true, taskIds: [taskId] }, _meta: { "io.modelcontextprotocol/subscriptionId": "sub" } },
    });
    const heard = client.heard("notifications/tasks");
    expect(heard.map(({ taskId: id }) => id)).toEqual(heard.map(() => taskId));
    expect(heard.map(({ _meta }) => _meta)).toEqual(heard.map(() => ({ "io.modelcontextprotocol/subscriptionId": "sub" })));
    expect(heard[0]).toMatchObject({ status: "input_required" });
    expect(heard.at(-1)).toMatchObject({ status: "completed", result: { structuredContent: { content: "done" } } });
    const told = client.told.length;
    abort.abort(new Error("gone"));
    await listening;
    expect(client.told.length).toBe(told);
  });

  it("gets nothing about other principals' tasks, and nothing without the extension", async () => {
    await using client = new StatelessClient();
    const taskId = await beginAsking(client, "ada");
    const listen = (options: object) => client.ask("subscriptions/listen", { notifications: { taskIds: [taskId] } }, options);
    const listening = [listen({ ...ASKS, principal: "bob", id: 1 }), listen({ principal: "ada", id: 2 })];
    await client.until(() => client.told[1]);
    await client.ask("tasks/cancel", { taskId }, { ...ASKS, principal: "ada" });
    await client.agent.open.settle();
    client.server.leave();
    const answers = await Promise.all(listening);
    expect(client.told.map(({ params }) => params["notifications"])).toEqual([{}, {}]);
    expect(answers).toEqual(
      [1, 2].map((id) => ({ result: { resultType: "complete", _meta: { "io.modelcontextprotocol/subscriptionId": id, ...SERVER } } })),
    );
  });

  it.each([{}, { notifications: [] }, { notifications: { taskIds: "all" } }, { notifications: { taskIds: [5] } }])(
    "gets an error for the invalid filter %j",
    async (params) => {
      await using client = new StatelessClient();
      expect(await client.ask("subscriptions/listen", params, ASKS)).toMatchObject({ error: { code: -32602 } });
    },
  );

  it("gets its result when the server ends, even if it arrives late", async () => {
    await using client = new StatelessClient();
    const listening = client.ask("subscriptions/listen", { notifications: { toolsListChanged: true } }, { id: 1 });
    await eventually("the acknowledgement", () => client.told[0]);
    client.server.leave();
    const late = client.ask("subscriptions/listen", { notifications: {} }, { id: 2 });
    expect(await Promise.all([listening, late])).toMatchObject([
      { result: { resultType: "complete" } },
      { result: { resultType: "complete" } },
    ]);
    await client.server.idle();
  });
});

it("a principal that uses its whole share of tasks does not keep another one's call from becoming a task", async () => {
  const store: TaskStore = { keep: async () => {}, find: async () => undefined, drop: async () => {} };
  const registry = new TaskRegistry({ store, changed: () => {}, report: () => {} });
  const adopt = (owner: string) => registry.adopt(unending(), { owner, ifLost: {}, inlineMs: 0, signal: new AbortController().signal });
  const ofAda = await Promise.all(Array.from({ length: 1_100 }, () => adopt("ada")));
  expect(ofAda.filter((handle) => handle !== undefined)).toHaveLength(1_024);
  expect(await adopt("bob")).toMatchObject({ resultType: "task" });
});

function unending(): Work {
  return {
    state: { at: "working", message: "Working" },
    ended: new Promise(() => {}),
    watch: () => () => {},
    answer: () => {},
    cancel: () => {},
  };
}
