import { appendFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { refusedOn } from "../../../test/support/callResults.js";
import { MemorySession, threadOf } from "../../../test/support/memory/memorySession.js";
import { valueAt } from "../../../test/support/scenarios/scenario.js";
import { rolloutFile, spokenOn } from "../../../test/support/threads/storedThread.js";

const NOBODY = "0199a213-81c0-7800-8aa1-bbab2a035a53";
const TIMED_OUT = "McpError: MCP error -32001: Request timed out";

/** A turn that runs until the file exists. */
const HELD = "!shell until [ -e go ]; do sleep 0.05; done\n!say made";

class Client extends MemorySession {
  /** Lets the held turns continue. */
  async letGo(): Promise<void> {
    const { writeFile } = await import("node:fs/promises");
    await writeFile(`${this.agent.folder}/go`, "");
  }

  /** The result of a wait while the turn runs its command. */
  async untilRunning(threadId: string): Promise<unknown> {
    for (;;) {
      const result = await this.call("codex-wait", { threadId, wait: 0 });
      if (String(saidBy(result)).includes("Running")) return result;
    }
  }

  /** Starts a call and cancels it as a client does. */
  async giveUp(name: string, args: unknown, { id, reason }: { id: string; reason?: string }): Promise<void> {
    this.send({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } });
    await this.untilEvent("exec_command_begin", id);
    this.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id, reason } });
    // The server handles messages in order.
    await this.request("ping");
  }
}

const statusOf = (result: unknown) => valueAt(result, "structuredContent.status");

const saidBy = (result: unknown) => valueAt(result, "structuredContent.content");

/** The size of what a model receives, in tokens. */
function cost(result: unknown): number {
  const texts = valueAt(result, "content.0.text");
  return Math.max(String(texts).length, JSON.stringify(valueAt(result, "structuredContent")).length) / 4;
}

describe("a call whose wait is over", () => {
  it("ends with what the turn is doing and what to do next; codex-wait gets the answer", async () => {
    await using client = new Client();
    const threadId = threadOf(await client.call("codex", { prompt: HELD, wait: 0 }));
    const running = await client.untilRunning(threadId);
    const content = expect.stringMatching(/^Still running after \d+ s: Running until \[ -e go \]; do sleep 0\.05; done$/);
    const next = "Call codex-wait (or codex-reply without a prompt) with this threadId; do not resend the task.";
    expect(valueAt(running, "structuredContent")).toEqual({ threadId, content, status: "running", next });
    expect(valueAt(running, "content.0.text")).toBe(`${String(saidBy(running))}\nthreadId: ${threadId}\n${next}`);
    expect(cost(running)).toBeLessThanOrEqual(120);
    await client.letGo();
    expect(saidBy(await client.call("codex-wait", { threadId }))).toBe("made");
  });

  it.for([{}, { prompt: "" }, { prompt: " \n" }, { prompt: null }])("codex-reply with %j waits as well", async (nothing) => {
    await using client = new Client();
    const threadId = threadOf(await client.call("codex", { prompt: HELD, wait: 0 }));
    const reply = client.call("codex-reply", { threadId, ...nothing });
    await client.letGo();
    expect(saidBy(await reply)).toBe("made");
    expect(spokenOn(client, threadId).filter((line) => line.startsWith("user:"))).toHaveLength(1);
  });

  it("ends at once with a wait of 0, and the turn begins all the same", async () => {
    await using client = new Client();
    const running = await client.call("codex", { prompt: HELD, wait: 0 });
    expect(statusOf(running)).toBe("running");
    await client.letGo();
    expect(saidBy(await client.call("codex-wait", { threadId: threadOf(running) }))).toBe("made");
  });

  it("goes on after a cancellation that comes too late: some clients send one after every call", async () => {
    await using client = new Client();
    const running = await client.call("codex", { prompt: HELD, wait: 0 }, "first");
    client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "first", reason: "User pressed Esc" } });
    const threadId = threadOf(running);
    await client.untilRunning(threadId);
    await client.letGo();
    expect(saidBy(await client.call("codex-wait", { threadId }))).toBe("made");
  });

  it("accepts a wait of a year, and refuses a longer one and a negative one", async () => {
    await using client = new Client();
    const result = await client.call("codex", { prompt: "!say soon", wait: 31_536_000 });
    expect(saidBy(result)).toBe("soon");
    for (const wait of [31_536_001, -1, 0.5, "soon"])
      expect(valueAt(await client.call("codex", { prompt: "!say no", wait }), "isError")).toBe(true);
  });

  it("appears in codex-threads without an output for the command that still runs", async () => {
    await using client = new Client();
    const threadId = threadOf(await client.call("codex", { prompt: HELD, wait: 0 }));
    await client.untilRunning(threadId);
    const entries = async () => valueAt(await client.call("codex-threads", { threadId }), "structuredContent.entries");
    const begun = [
      { from: "user", text: HELD },
      { from: "tool", text: expect.stringContaining("until [ -e go ]") },
    ];
    expect(await entries()).toEqual(begun);
    await client.call("codex-manage", { action: "stop", threadId });
    expect(await entries()).toEqual([...begun, { from: "output", text: expect.stringContaining("aborted") }]);
  });

  it("is shown as running by codex-threads of another server with the same threads", async () => {
    await using client = new Client();
    const threadId = threadOf(await client.call("codex", { prompt: HELD, wait: 0 }));
    await client.untilRunning(threadId);
    await using other = new Client({ codexHome: client.codexHome });
    const list = await other.call("codex-threads", {});
    expect(valueAt(list, "structuredContent.threads.0")).toMatchObject({
      id: threadId,
      state: "running",
      doing: "A turn of another server",
    });
    expect(valueAt(list, "content.0.text")).toContain("  running in another server  ");
    const page = await other.call("codex-threads", { threadId });
    expect(valueAt(page, "structuredContent.state")).toBe("running");
    expect(valueAt(page, "content.0.text")).toMatch(/turn 1 of 1; running in another server\n/);
    expect(JSON.stringify(page)).not.toContain("aborted");
    const stop = await other.call("codex-manage", { action: "stop", threadId });
    expect(valueAt(stop, "content.0.text")).toContain("`codex-threads` with its threadId shows when it is idle.");
    await client.letGo();
    await client.call("codex-wait", { threadId });
    await client.agent.open.settle();
    expect(valueAt(await other.call("codex-threads", {}), "structuredContent.threads.0.state")).toBe("idle");
  });

  it("ends in the same way with codex-manage compact, whose result says what was done", async () => {
    await using client = new Client();
    const threadId = threadOf(await client.call("codex", { prompt: HELD, wait: 0 }));
    const compact = { name: "codex-manage", arguments: { action: "compact", threadId } };
    client.send({ jsonrpc: "2.0", id: "compact", method: "tools/call", params: compact });
    const queued = async () => valueAt(await client.call("codex-threads", { threadId }), "structuredContent.queued") === 1;
    while (!(await queued()));
    client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "compact", reason: TIMED_OUT } });
    const meanwhile = await client.call("codex-wait", { threadId, wait: 0 });
    expect(valueAt(meanwhile, "structuredContent.alsoRunning.0.state")).toMatch(/^has been queued for \d+ s$/);
    await client.letGo();
    expect(saidBy(await client.call("codex-wait", { threadId }))).toBe("made");
    const result = await client.call("codex-wait", { threadId });
    expect([statusOf(result), saidBy(result), valueAt(result, "structuredContent.next")]).toEqual([
      "completed",
      "The thread was summarised: a summary has replaced its history.",
      undefined,
    ]);
  });

  it("ends in the same way with codex-review, whose findings come with the answer, as data", async () => {
    await using client = new Client();
    const instructions = HELD.replace("made", String.raw`- [P1] Leaks — a.ts:3-4\n  At once.`);
    const running = await client.call("codex-review", { target: "custom", instructions, wait: 0 });
    expect(statusOf(running)).toBe("running");
    await client.letGo();
    const ended = await client.call("codex-wait", { threadId: threadOf(running) });
    expect(valueAt(ended, "structuredContent.findings")).toEqual([
      { priority: 1, title: "Leaks", file: "a.ts", lines: [3, 4], body: "At once.", confidence: null },
    ]);
  });

  it("never ends before its turn in the set codex-original, which has no such argument", async () => {
    await using client = new Client({ sets: ["codex-original"] });
    const result = client.call("codex", { prompt: HELD, wait: 0 }, "call");
    await client.untilEvent("exec_command_begin", "call");
    await client.letGo();
    expect(saidBy(await result)).toBe("made");
  });
});

describe("codex-wait", () => {
  it("does not return a message before a tool call as the answer", async () => {
    await using client = new Client();
    const threadId = threadOf(await client.call("codex", { prompt: "!say one" }));
    const said = (role: string, type: string, text: string) => ({ type: "message", role, content: [{ type, text }] });
    const begun = [
      said("user", "input_text", "run the tests"),
      said("assistant", "output_text", "I will run them first."),
      { type: "function_call", name: "shell", arguments: "{}", call_id: "c1" },
    ];
    // The state that a server leaves if it is killed during a turn.
    const lines = begun.map((payload) => JSON.stringify({ timestamp: "2026-01-01T00:00:00.000Z", type: "response_item", payload }));
    appendFileSync(rolloutFile(client, threadId), `${lines.join("\n")}\n`);
    const result = await client.call("codex-wait", { threadId });
    expect([statusOf(result), valueAt(result, "isError")]).toEqual(["interrupted", true]);
  });

  it("returns the last answer again if nothing runs", async () => {
    await using client = new Client();
    const threadId = threadOf(await client.call("codex", { prompt: "!say one" }));
    // Otherwise a reply that lost its prompt would look answered.
    const next = "No turn runs: this is the thread's last answer. Go on with codex-reply and a prompt.";
    const report = { text: `\nthreadId: ${threadId}\nnext: ${next}`, type: "text" };
    const again = {
      content: [{ text: "one", type: "text" }, report],
      structuredContent: { threadId, content: "one", status: "completed", next },
    };
    expect([await client.call("codex-wait", { threadId }), await client.call("codex-reply", { threadId })]).toEqual([again, again]);
  });

  it.for([
    ["of the call", {}, { "result-tokens": 150 }],
    ["of the server", { resultTokens: 150 }, {}],
    ["of the call, over the server's", { resultTokens: 100_000 }, { "result-tokens": 150 }],
  ] as const)("returns the last answer within the budget %s, and says where the rest is", async ([, options, asked]) => {
    await using client = new Client(options);
    const threadId = threadOf(await client.call("codex", { prompt: `!say first ${"x".repeat(2_000)} last`, "result-tokens": 100_000 }));
    for (const tool of ["codex-wait", "codex-reply"]) {
      const again = await client.call(tool, { threadId, ...asked });
      expect(valueAt(again, "content.0.text")).toBe(saidBy(again));
      expect(saidBy(again)).toMatch(/^first x+\n\n\[… \d+ of 2011 characters are left out here\. codex-threads .+ …\]\n\nx+ last$/);
      expect(cost(again)).toBeLessThanOrEqual(155);
    }
  });

  it("returns the last answer of a thread of an earlier server", async () => {
    await using before = new Client();
    const threadId = threadOf(await before.call("codex", { prompt: "!say one" }));
    await using after = new Client({ codexHome: before.codexHome });
    expect(valueAt(await after.call("codex-wait", { threadId }), "structuredContent.content")).toBe("one");
  });

  it("reports that the turn was stopped, and how to continue", async () => {
    await using client = new Client();
    const threadId = threadOf(await client.call("codex", { prompt: HELD, wait: 0 }));
    const waiting = client.call("codex-wait", { threadId });
    await client.call("codex-manage", { action: "stop", threadId });
    const why = "The turn was interrupted before it ended: another call or a person stopped it.";
    const result = await waiting;
    expect(valueAt(result, "structuredContent")).toMatchObject({ status: "interrupted", content: why });
    expect(valueAt(result, "content.0.text")).toBe(
      `${why}\n\nThread ${threadId} keeps what it has done. Go on with codex-reply with threadId "${threadId}".`,
    );
  });

  it("says of a queued turn that was stopped that the agent has not seen its prompt", async () => {
    await using client = new Client();
    const threadId = threadOf(await client.call("codex", { prompt: HELD, wait: 0 }));
    await client.call("codex-reply", { threadId, prompt: "!say second", wait: 0 });
    await client.call("codex-manage", { action: "stop", threadId });
    const texts = [];
    for (const turn of ["running", "queued"]) texts.push([turn, valueAt(await client.call("codex-wait", { threadId }), "content.0.text")]);
    expect(texts).toEqual([
      ["running", expect.stringMatching(/^The turn was interrupted before it ended: another call or a person stopped it\.\n/)],
      [
        "queued",
        "The turn was stopped before it began: another call or a person stopped it. The agent has not seen its prompt.\n\n" +
          `If it is still wanted, send the prompt again with codex-reply with threadId "${threadId}".`,
      ],
    ]);
  });

  it("says what to do on a thread whose last turn left no answer", async () => {
    await using client = new Client();
    const threadId = threadOf(await client.call("codex", { prompt: "!say one" }));
    await client.giveUp("codex-reply", { threadId, prompt: HELD }, { id: "stopped" });
    await client.untilEvent("turn_aborted", "stopped");
    // The first call still gets the turn's own result.
    await client.call("codex-wait", { threadId });
    const result = await client.call("codex-wait", { threadId });
    expect([valueAt(result, "isError"), statusOf(result), saidBy(result)]).toEqual([
      true,
      "interrupted",
      expect.stringMatching(/: its last one was interrupted before it answered\. Go on with codex-reply and a prompt;/),
    ]);
  });

  it("says why the last turn failed, even after a restart of the server", async () => {
    await using before = new Client();
    const threadId = threadOf(await before.call("codex", { prompt: '!status 400 {"error":{"message":"no such luck"}}' }));
    await using after = new Client({ codexHome: before.codexHome });
    for (const client of [before, after]) {
      const result = await client.call("codex-wait", { threadId });
      expect([valueAt(result, "isError"), statusOf(result)]).toEqual([true, "failed"]);
      expect(valueAt(result, "content.0.text")).toMatch(
        /: its last one failed \(.*no such luck.*\)\. Go on with codex-reply and a prompt;/,
      );
    }
  });

  it("reports a failed turn that another program recorded with an error before its end", async () => {
    await using before = new Client();
    const threadId = threadOf(await before.call("codex", { prompt: '!status 400 {"error":{"message":"no such luck"}}' }));
    const end = { timestamp: new Date().toISOString(), type: "event_msg", payload: { type: "task_complete", last_agent_message: null } };
    appendFileSync(rolloutFile(before, threadId), `${JSON.stringify(end)}\n`);
    await using after = new Client({ codexHome: before.codexHome });
    expect(statusOf(await after.call("codex-wait", { threadId }))).toBe("failed");
  });

  it("does not report a summary as a failure", async () => {
    await using client = new Client();
    const threadId = threadOf(await client.call("codex", { prompt: "!say one" }));
    await client.call("codex-manage", { action: "compact", threadId });
    const result = await client.call("codex-wait", { threadId });
    expect([valueAt(result, "isError"), statusOf(result), saidBy(result)]).toEqual([
      undefined,
      "completed",
      expect.stringContaining("its last one ended without a message"),
    ]);
  });

  it("is refused for an unknown thread, and without a thread", async () => {
    await using client = new Client();
    expect(await client.call("codex-wait", { threadId: NOBODY })).toEqual(refusedOn(NOBODY, expect.stringContaining("Session not found")));
    expect(valueAt(await client.call("codex-wait", {}), "isError")).toBe(true);
    expect(valueAt(await client.call("codex-wait", { threadId: "nonsense" }), "isError")).toBe(true);
  });

  it("returns the answer of each of several turns, the oldest first, and says that a newer one is left", async () => {
    await using client = new Client();
    const threadId = threadOf(await client.call("codex", { prompt: HELD, wait: 0 }));
    const queued = await client.call("codex-reply", { threadId, prompt: "!say second", wait: 0 });
    expect(saidBy(queued)).toMatch(/^Queued for \d+ s: an earlier turn of this thread still runs$/);
    await client.letGo();
    const answers = [await client.call("codex-wait", { threadId }), await client.call("codex-wait", { threadId })];
    expect(answers.map(saidBy)).toEqual(["made", "second"]);
    // Otherwise the first answer would be taken for the one to the second prompt.
    const newer = "The thread has a newer turn: call codex-wait again for its answer.";
    expect(answers.map((result) => valueAt(result, "structuredContent.notices"))).toEqual([[newer], undefined]);
    expect(valueAt(answers[0], "content.1.text")).toContain(`\nnote: ${newer}\n`);
  });

  it("says that a newer turn was answered when it returns an earlier answer that nobody fetched", async () => {
    await using client = new Client();
    const threadId = threadOf(await client.call("codex", { prompt: HELD, wait: 0 }));
    const second = client.call("codex-reply", { threadId, prompt: "!say second" });
    await client.letGo();
    expect(saidBy(await second)).toBe("second");
    const answers = [await client.call("codex-wait", { threadId }), await client.call("codex-wait", { threadId })];
    expect(answers.map(saidBy)).toEqual(["made", "second"]);
    const newer = "The thread has a newer turn: call codex-wait again for its answer.";
    expect(answers.map((result) => valueAt(result, "structuredContent.notices"))).toEqual([[newer], undefined]);
  });

  it("a thousand simultaneous calls all get the answer, none of them twice", async () => {
    await using client = new Client();
    const threadId = threadOf(await client.call("codex", { prompt: HELD, wait: 0 }));
    const ids = Array.from({ length: 1_000 }, (_, at) => `wait ${at}`);
    client.send(
      ...ids.map((id) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "codex-wait", arguments: { threadId } } })),
    );
    await client.request("ping");
    await client.letGo();
    const answers = await client.until(() => {
      const given = client.received.filter(({ id, result }) => typeof id === "string" && result !== undefined);
      return given.length === 1_000 ? given : undefined;
    });
    expect(new Set(answers.map(({ result }) => saidBy(result)))).toEqual(new Set(["made"]));
    expect(client.eventTypesOf("wait 0")).not.toContain("task_started");
    expect(client.eventTypesOf("wait 999").filter((type) => type === "task_complete")).toHaveLength(1);
  });
});

describe("a client that times out", () => {
  it.for([
    TIMED_OUT,
    "McpError: MCP error -32001: Maximum total timeout exceeded",
    "TimeoutError: The operation was aborted due to timeout",
    "request timeout",
    "timed out after 60s",
    "context deadline exceeded",
  ])("detaches with the reason %j: the turn goes on", async (reason) => {
    await using client = new Client();
    await client.giveUp("codex", { prompt: HELD }, { id: "lost", reason });
    const again = client.call("codex", { prompt: HELD });
    await client.letGo();
    expect(saidBy(await again)).toBe("made");
    expect(client.received.filter(({ id }) => id === "lost")).toEqual([]);
  });

  it.for([undefined, "User pressed Esc", "AbortError: This operation was aborted", "out of time for this"])(
    "cancels with the reason %j: the turn is interrupted",
    async (reason) => {
      await using client = new Client();
      await client.giveUp("codex", { prompt: HELD }, reason === undefined ? { id: "stopped" } : { id: "stopped", reason });
      expect(await client.untilEvent("turn_aborted", "stopped")).toMatchObject({ reason: "interrupted" });
    },
  );

  it("and sends the same prompt again joins its turn: one thread, one turn", async () => {
    await using client = new Client();
    await client.giveUp("codex", { prompt: HELD }, { id: "first", reason: TIMED_OUT });
    client.send({ jsonrpc: "2.0", id: "second", method: "tools/call", params: { name: "codex", arguments: { prompt: HELD } } });
    await client.request("ping");
    client.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "second", reason: TIMED_OUT } });
    const third = client.call("codex", { prompt: HELD });
    await client.letGo();
    const threadId = threadOf(await third);
    expect(spokenOn(client, threadId).filter((line) => line.startsWith("user:"))).toHaveLength(1);
    const list = await client.call("codex-threads", { action: "list" });
    expect(valueAt(list, "structuredContent.threads.length")).toBe(1);
  });

  it("and joins its running turn learns this from both parts of the result", async () => {
    await using client = new Client();
    await client.giveUp("codex", { prompt: HELD }, { id: "first", reason: TIMED_OUT });
    const joined = await client.call("codex", { prompt: HELD, wait: 0 });
    const remark = String(valueAt(joined, "structuredContent.notices.0"));
    expect(remark).toMatch(/^This turn was started \d+ s ago by a call with the same arguments that timed out; it was not started again\./);
    expect(valueAt(joined, "content.0.text")).toContain(`\n${remark}\n`);
    await client.letGo();
  });

  it("finds the answer of a turn that ended meanwhile", async () => {
    await using client = new Client();
    await client.giveUp("codex", { prompt: HELD }, { id: "lost", reason: TIMED_OUT });
    await client.letGo();
    await client.agent.open.settle();
    const result = await client.call("codex", { prompt: HELD });
    expect(saidBy(result)).toBe("made");
    expect(valueAt(result, "structuredContent.notices.0")).toMatch(/^This turn was started \d+ s ago by a call with the same arguments/);
    expect(valueAt(await client.call("codex-threads", { action: "list" }), "structuredContent.threads.length")).toBe(1);
  });

  it("starts a new turn if the first was stopped meanwhile", async () => {
    await using client = new Client();
    await client.giveUp("codex", { prompt: HELD }, { id: "lost", reason: TIMED_OUT });
    const other = await client.call("codex", { prompt: "!say other" });
    const stopped = String(valueAt(other, "structuredContent.alsoRunning.0.threadId"));
    await client.call("codex-manage", { action: "stop", threadId: stopped });
    const told = await client.call("codex", { prompt: "!say third" });
    expect(valueAt(told, "content.2.text")).toBe(
      `\nAn earlier call here timed out; its thread ${stopped} was interrupted. codex-reply goes on there.`,
    );
    const again = client.call("codex", { prompt: HELD });
    await client.letGo();
    expect([saidBy(await again), threadOf(await again) === stopped]).toEqual(["made", false]);
  });

  it("and replies the same again joins its turn", async () => {
    await using client = new Client();
    const threadId = threadOf(await client.call("codex", { prompt: "!say one" }));
    await client.giveUp("codex-reply", { threadId, prompt: HELD }, { id: "lost", reason: TIMED_OUT });
    const again = client.call("codex-reply", { threadId, prompt: HELD });
    await client.letGo();
    expect(saidBy(await again)).toBe("made");
    expect(spokenOn(client, threadId).filter((line) => line.startsWith("user:"))).toHaveLength(2);
  });

  it("and requests something else there learns about the running thread until it uses it", async () => {
    await using client = new Client();
    await client.giveUp("codex", { prompt: HELD }, { id: "lost", reason: TIMED_OUT });
    const other = await client.call("codex", { prompt: "!say other" });
    const named = String(valueAt(other, "structuredContent.alsoRunning.0.threadId"));
    expect(valueAt(other, "structuredContent.alsoRunning.0.next")).toBe("An earlier call here timed out. codex-wait gets its answer.");
    expect(valueAt(other, "content.2.text")).toMatch(
      new RegExp(
        `^\\nAn earlier call here timed out; its thread ${named} has been running for \\d+ s: Running until .*\\. codex-wait gets its answer\\.$`,
      ),
    );
    expect(named).not.toBe(threadOf(other));
    await client.letGo();
    expect(saidBy(await client.call("codex-wait", { threadId: named }))).toBe("made");
    expect(valueAt(await client.call("codex", { prompt: "!say third" }), "structuredContent.alsoRunning")).toBe(undefined);
  });

  it("starts a new turn in another folder or with another sandbox", async () => {
    await using client = new Client();
    await client.giveUp("codex", { prompt: HELD }, { id: "lost", reason: TIMED_OUT });
    const elsewhere = await client.call("codex", { prompt: "!say there", cwd: "/tmp" });
    expect(valueAt(elsewhere, "structuredContent.alsoRunning")).toBe(undefined);
    const other = await client.call("codex", { prompt: HELD, sandbox: "workspace-write", wait: 0 });
    expect(valueAt(other, "structuredContent.alsoRunning.0.threadId")).not.toBe(threadOf(other));
    await client.letGo();
  });

  it("waits for a shorter time from then on", async () => {
    await using client = new Client();
    await client.giveUp("codex", { prompt: HELD }, { id: "lost", reason: TIMED_OUT });
    // The client gave up within seconds, so the next calls end within seconds.
    expect(statusOf(await client.call("codex", { prompt: HELD }))).toBe("running");
    await client.letGo();
  });
});

it("a repeated call after a result with `running` starts a second turn", async () => {
  await using client = new Client();
  const [one, other] = [await client.call("codex", { prompt: HELD, wait: 0 }), await client.call("codex", { prompt: HELD, wait: 0 })];
  expect(threadOf(one)).not.toBe(threadOf(other));
  await client.letGo();
});
