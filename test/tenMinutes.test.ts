import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ElicitRequestSchema, type JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { callersInside } from "../src/agent/caller.js";
import type { Wire } from "../src/jsonrpc/wire.js";
import { Session } from "../src/mcp/sessions/session.js";
import { toolsOf } from "../src/mcp/tools/sets.js";
import { LISTED_TOOLS } from "../src/mcp/tools/tools.generated.js";
import { Tools } from "../src/mcp/tools/tools.js";
import type { Engine, EngineThread, TurnContext } from "../src/threads/engine.js";
import type { ThreadEvent } from "../src/threads/events.js";
import { answer, beginning } from "./support/memory/memoryThreads.js";
import { memoryWires } from "./support/memory/memoryWires.js";
import { OwnToolsStage } from "./support/memory/ownToolsStage.js";
import { valueAt } from "./support/scenarios/scenario.js";

// An unmodified official client, which gives up a call after 60 s, and a turn of ten minutes with a question in the middle. Only the clock
// and the turn are scripted.

const MINUTE = 60_000;
const SUBJECT = {
  kind: "command",
  callId: "c1",
  command: ["bash", "-lc", "npm publish"],
  commandText: "npm publish",
  cwd: "/repo",
  parsed: [],
  staysInSandbox: false,
  needsPerson: true,
} as const;

/** Works for five minutes, asks, and works for five minutes more. */
class SlowEngine implements Engine {
  readonly name = "scripted";

  async openThread(): Promise<EngineThread> {
    return { opening: [], keepsRunning: false, run: (_, context) => tenMinutes(context) };
  }
}

async function* tenMinutes({ ask }: TurnContext): AsyncGenerator<readonly ThreadEvent[]> {
  yield beginning("release it");
  yield [{ type: "planUpdated", explanation: null, plan: [{ step: "run the tests", status: "in_progress" }] }];
  await passed(5 * MINUTE);
  const { kind } = await ask(SUBJECT);
  yield [{ type: "planUpdated", explanation: null, plan: [{ step: `${kind}, publish`, status: "in_progress" }] }];
  await passed(5 * MINUTE);
  yield answer("release it");
}

function passed(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** The SDK's side of a connection in memory. */
class WireTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void;
  onclose?: () => void;
  readonly #wire: Wire;

  constructor(wire: Wire) {
    this.#wire = wire;
  }

  async start(): Promise<void> {
    void this.#read();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#wire.send(JSON.stringify(message));
  }

  async close(): Promise<void> {
    await this.#wire.close();
    this.onclose?.();
  }

  async #read(): Promise<void> {
    for await (const frame of this.#wire.incoming) if ("text" in frame) this.onmessage?.(JSON.parse(frame.text) as JSONRPCMessage);
  }
}

/** The actions of a caller, and the messages it received. */
class Caller implements AsyncDisposable {
  readonly #stage = new OwnToolsStage({ engine: new SlowEngine(), approvalFallback: "hold" });
  readonly #client: Client;
  readonly #session: Session;
  readonly #transport: WireTransport;
  readonly told: unknown[] = [];
  /** The names of the tools it called. */
  readonly used: string[] = [];

  /** `answers`: its user answers the forms that it shows. */
  constructor({ answers = false }: { readonly answers?: boolean } = {}) {
    this.#client = new Client({ name: "a-client-nobody-knows", version: "1.0.0" }, answers ? { capabilities: { elicitation: {} } } : {});
    if (answers) this.#client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "accept", content: { decision: "approved" } }));
    const [near, far] = memoryWires();
    const { opened } = this.#stage;
    this.#session = new Session(near, {
      engine: "scripted",
      env: {},
      tools: new Tools({ tools: toolsOf(["codex"]), objection: callersInside, open: async () => opened }),
      welcomed: () => {},
      report: () => {},
    });
    void this.#session.run(near.incoming);
    this.#transport = new WireTransport(far);
  }

  async connect(): Promise<void> {
    await whileTimePasses(this.#client.connect(this.#transport));
  }

  async call(name: string, args: Record<string, unknown>): Promise<unknown> {
    const result = await whileTimePasses(this.#client.callTool({ name, arguments: args }));
    this.told.push(result);
    this.used.push(name);
    return result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#session.close(new Error("the test is over"));
    await whileTimePasses(this.#client.close());
    await whileTimePasses(this.#stage[Symbol.asyncDispose]());
  }
}

const realSetTimeout = globalThis.setTimeout;

/** Advances the clock by a second at a time until the promise settles. Loading from the disk takes no time on the scripted clock. */
async function whileTimePasses<T>(promise: Promise<T>): Promise<T> {
  let ended = false;
  const settled = promise.finally(() => {
    ended = true;
  });
  settled.catch(() => undefined);
  while (!ended) {
    await new Promise((resolve) => realSetTimeout(resolve, 1));
    await vi.advanceTimersByTimeAsync(1_000);
  }
  return settled;
}

/** The size of the results in tokens, as a client might pass them to its model. */
function tokens(results: readonly unknown[]): number {
  return results.reduce<number>((sum, result) => sum + JSON.stringify(result).length, 0) / 4;
}

beforeEach(async () => {
  // Loads first what the first call would load, since that takes real time.
  await Promise.all([...LISTED_TOOLS.map(({ load }) => load()), import("../src/mcp/sessions/callTurn.js")]);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "Date", "hrtime", "performance"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a turn of ten minutes for a client that gives up after one", () => {
  it.each([
    ["codex-wait", (threadId: string) => ({ threadId })],
    ["codex-reply", (threadId: string) => ({ threadId })],
    ["codex-reply", (threadId: string) => ({ threadId, prompt: "" })],
  ] as const)("through codex, codex-answer and %s: every call is answered, and the answer arrives", async (again, args) => {
    await using caller = new Caller();
    await caller.connect();
    const began = Date.now();
    let result = await caller.call("codex", { prompt: "release it", "approval-policy": "on-request" });
    const threadId = String(valueAt(result, "structuredContent.threadId"));
    const answers: unknown[] = [];
    while (valueAt(result, "structuredContent.status") === "running") {
      const id = valueAt(result, "structuredContent.questions.0.id");
      if (id !== undefined) answers.push(await caller.call("codex-answer", { id, decision: "approve" }));
      result = await caller.call(again, args(threadId));
    }
    const decided = { threadId, id: expect.any(String), decision: "approved" };
    expect(answers).toEqual([expect.objectContaining({ structuredContent: expect.objectContaining(decided) })]);
    expect([valueAt(result, "structuredContent.content"), Math.round((Date.now() - began) / MINUTE)]).toEqual(["re: release it", 10]);
    expect(valueAt(result, "structuredContent.approvals")).toMatchObject({
      asked: 1,
      allowed: 1,
      decisions: [{ decision: "approved", by: "tool" }],
    });
    expect(new Set(caller.used)).toEqual(new Set(["codex", again, "codex-answer"]));
    const before = caller.told.slice(0, -1);
    expect(tokens(before)).toBeLessThan(2_000);
    for (const running of before)
      expect(tokens([running])).toBeLessThanOrEqual(valueAt(running, "structuredContent.questions") ? 250 : 160);
  });

  it("through codex and codex-reply alone, which is all that some users allow, where the user is asked in the client", async () => {
    await using caller = new Caller({ answers: true });
    await caller.connect();
    let result = await caller.call("codex", { prompt: "release it", "approval-policy": "on-request" });
    const threadId = String(valueAt(result, "structuredContent.threadId"));
    while (valueAt(result, "structuredContent.status") === "running") result = await caller.call("codex-reply", { threadId });
    expect(valueAt(result, "structuredContent")).toMatchObject({
      content: "re: release it",
      approvals: { asked: 1, allowed: 1, decisions: [{ decision: "approved", by: "elicitation" }] },
    });
    expect([caller.used[0], new Set(caller.used.slice(1))]).toEqual(["codex", new Set(["codex-reply"])]);
    expect(tokens(caller.told.slice(0, -1))).toBeLessThan(2_000);
  });
});
