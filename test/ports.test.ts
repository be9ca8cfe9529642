import { setImmediate } from "node:timers/promises";
import type { Asker } from "../src/agent/access.js";
import { MemoryTurnLimiter, type TurnLimiter } from "../src/agent/turnLimiter.js";
import { type ApprovalDesk, MemoryApprovalDesk, type OpenQuestion } from "../src/approvals/desk.js";
import type { ApprovalDecision, ApprovalId, ApprovalRequest } from "../src/approvals/model.js";
import type { ThreadId } from "../src/lib/ids.js";
import type { Entry, EventLog, EventLogs, LogReader, LogReading, TurnAddress } from "../src/threads/eventLog.js";
import type { ThreadEvent } from "../src/threads/events.js";
import { MemoryEventLogs, TURN_LOG } from "../src/threads/memoryEventLog.js";
import { approvalDeskContract } from "./contracts/approvalDesk.js";
import { eventLogContract } from "./contracts/eventLog.js";
import { threadStoreContract } from "./contracts/threadStore.js";
import { turnLimiterContract } from "./contracts/turnLimiter.js";
import { MemoryStore } from "./support/memory/memoryThreads.js";
import { storeIn, tempHome } from "./support/threads/rollouts.js";

eventLogContract("memory", async () => {
  const logs = new MemoryEventLogs(TURN_LOG);
  return { writer: logs, reader: logs, async [Symbol.asyncDispose]() {} };
});

eventLogContract("memory, read from another node", async () => {
  const logs = new MemoryEventLogs(TURN_LOG);
  return { writer: logs, reader: new DistantLogs(logs), async [Symbol.asyncDispose]() {} };
});

approvalDeskContract("memory", async ({ deadlineMs }) => {
  const desk = new MemoryApprovalDesk(deadlineMs);
  return { asking: desk, answering: desk, async [Symbol.asyncDispose]() {} };
});

approvalDeskContract("memory, answered from another node", async ({ deadlineMs }) => {
  const desk = new MemoryApprovalDesk(deadlineMs);
  return { asking: desk, answering: new DistantDesk(desk), async [Symbol.asyncDispose]() {} };
});

turnLimiterContract("memory", (limits) => {
  const limiter = new MemoryTurnLimiter(limits);
  return [limiter, limiter];
});

turnLimiterContract("memory, of another node", (limits) => {
  const limiter = new MemoryTurnLimiter(limits);
  return [new DistantLimiter(limiter), new DistantLimiter(limiter)];
});

threadStoreContract("memory", async () => {
  const here = new MemoryStore();
  return { here, elsewhere: new MemoryStore(here.records), async [Symbol.asyncDispose]() {} };
});

threadStoreContract("rollout files", async () => {
  const home = tempHome();
  const [here, elsewhere] = [storeIn(home.path), storeIn(home.path)];
  return {
    here,
    elsewhere,
    async [Symbol.asyncDispose]() {
      await Promise.all([here.settle(), elsewhere.settle()]);
      home[Symbol.dispose]();
    },
  };
});

/** Event logs of another node as seen over a network: delayed, and as JSON. */
class DistantLogs implements EventLogs<ThreadEvent> {
  readonly #logs: EventLogs<ThreadEvent>;

  constructor(logs: EventLogs<ThreadEvent>) {
    this.#logs = logs;
  }

  create(): EventLog<ThreadEvent> {
    throw new Error("a log is written where its turn runs");
  }

  async find(turn: TurnAddress): Promise<LogReader<ThreadEvent> | undefined> {
    const log = await overNetwork(this.#logs.find(turn));
    return log && { read: (reading) => readOverNetwork(log, reading) };
  }
}

/** The approval desk of another node as seen over a network. */
class DistantDesk implements ApprovalDesk {
  readonly #desk: ApprovalDesk;

  constructor(desk: ApprovalDesk) {
    this.#desk = desk;
  }

  ask(): OpenQuestion {
    throw new Error("a question is put where its turn runs");
  }

  async answer(id: ApprovalId, decision: ApprovalDecision): Promise<boolean> {
    await setImmediate();
    return overNetwork(this.#desk.answer(id, JSON.parse(JSON.stringify(decision))));
  }

  async pending(filter?: { readonly threadId?: ThreadId }): Promise<readonly ApprovalRequest[]> {
    return JSON.parse(JSON.stringify(await overNetwork(this.#desk.pending(filter))));
  }
}

/** The limiter of another node: turns are admitted and released with a delay. */
class DistantLimiter implements TurnLimiter {
  readonly #limiter: TurnLimiter;

  constructor(limiter: TurnLimiter) {
    this.#limiter = limiter;
  }

  get waiting(): number {
    return this.#limiter.waiting;
  }

  async enter(asker: Asker): Promise<Disposable | undefined> {
    await setImmediate();
    const place = await this.#limiter.enter(asker);
    return place && { [Symbol.dispose]: () => void setImmediate().then(() => place[Symbol.dispose]()) };
  }
}

async function* readOverNetwork(log: LogReader<ThreadEvent>, reading?: LogReading): AsyncGenerator<readonly Entry<ThreadEvent>[]> {
  for await (const batch of log.read(reading)) {
    await setImmediate();
    yield JSON.parse(JSON.stringify(batch));
  }
}

async function overNetwork<T>(answer: Promise<T>): Promise<T> {
  await setImmediate();
  return answer;
}
