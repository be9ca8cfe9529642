import { setImmediate } from "node:timers/promises";
import type { Entry, EventLog, EventLogs, LogReader, LogReading, TurnAddress } from "../src/threads/eventLog.js";
import type { ThreadEvent } from "../src/threads/events.js";
import { MemoryEventLogs, TURN_LOG } from "../src/threads/memoryEventLog.js";
import { eventLogContract } from "./contracts/eventLog.js";

eventLogContract("memory", async () => {
  const logs = new MemoryEventLogs(TURN_LOG);
  return { writer: logs, reader: logs, async [Symbol.asyncDispose]() {} };
});

eventLogContract("memory, read from another node", async () => {
  const logs = new MemoryEventLogs(TURN_LOG);
  return { writer: logs, reader: new DistantLogs(logs), async [Symbol.asyncDispose]() {} };
});

/** Logs of another node, as a reader beyond a network has them: late, and as JSON. */
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
