import { describe, expect, it } from "vitest";
import { newThreadId, newTurnKey } from "../../src/lib/ids.js";
import type { Entry, EventLogs, LogReader, LogReading, TurnAddress } from "../../src/threads/eventLog.js";
import type { ThreadEvent } from "../../src/threads/events.js";

/** The logs seen from the node that runs the turn, and from any other. The same object if there is only one node. */
export interface LogsUnderTest extends AsyncDisposable {
  readonly writer: EventLogs<ThreadEvent>;
  readonly reader: EventLogs<ThreadEvent>;
}

/** The contract of every implementation of `EventLogs`, on the node of the turn and on others. */
export function eventLogContract(name: string, open: () => Promise<LogsUnderTest>): void {
  describe(`event logs in ${name}`, () => {
    it("number events from 1, and a reader on another node gets each once, in order", async () => {
      await using logs = await open();
      const { address, log } = newLog(logs);
      log.append([said("a"), said("b")]);
      const reading = readAll(await found(logs, address));
      log.append([]);
      log.append([said("c")]);
      log.end();
      expect([await reading, log.size]).toEqual([entries("a", "b", "c"), 3]);
    });

    it("keep events for later readers, even after the end", async () => {
      await using logs = await open();
      const { address, log } = newLog(logs);
      log.append([said("a")]);
      log.append([said("b")]);
      log.end();
      const reader = await found(logs, address);
      expect([await readAll(reader), await readAll(reader)]).toEqual([entries("a", "b"), entries("a", "b")]);
    });

    it("resume after a reader's last number, on whichever node it got it", async () => {
      await using logs = await open();
      const { address, log } = newLog(logs);
      log.append([said("a"), said("b"), said("c")]);
      log.end();
      const reader = await found(logs, address);
      const rest = await Promise.all([0, 1, 3, 99].map((after) => readAll(reader, { after })));
      expect(rest).toEqual([entries("a", "b", "c"), entries("a", "b", "c").slice(1), [], []]);
    });

    it("wait for no reader, and no reader waits for another", async () => {
      await using logs = await open();
      const { address, log } = newLog(logs);
      log.append([said("a")]);
      const slow = (await found(logs, address)).read();
      expect((await slow.next()).value).toEqual(entries("a"));
      log.append([said("b")]);
      log.end();
      expect(await readAll(await found(logs, address))).toEqual(entries("a", "b"));
      expect([(await slow.next()).value, (await slow.next()).done]).toEqual([entries("a", "b").slice(1), true]);
    });

    it("end a reader whose signal aborts, and no other", async () => {
      await using logs = await open();
      const { address, log } = newLog(logs);
      const reader = await found(logs, address);
      const abort = new AbortController();
      const [leaving, staying] = [readAll(reader, { signal: abort.signal }), readAll(reader)];
      abort.abort();
      expect(await leaving).toEqual([]);
      log.append([said("a")]);
      log.end();
      expect(await staying).toEqual(entries("a"));
    });

    it("accept nothing after the end", async () => {
      await using logs = await open();
      const { address, log } = newLog(logs);
      log.append([said("a")]);
      log.end();
      log.end();
      log.append([said("late")]);
      expect([await readAll(await found(logs, address)), log.size]).toEqual([entries("a"), 1]);
    });

    it("are found by thread and turn together; others are not found", async () => {
      await using logs = await open();
      const { address, log } = newLog(logs);
      expect(await logs.reader.find({ ...address, threadId: newThreadId() })).toBeUndefined();
      expect(await logs.reader.find({ ...address, turn: newTurnKey() })).toBeUndefined();
      log.end();
    });

    it("are separate for two turns of one thread", async () => {
      await using logs = await open();
      const one = newLog(logs);
      const two = newLog(logs, one.address.threadId);
      one.log.append([said("a")]);
      two.log.append([said("b")]);
      for (const { log } of [one, two]) log.end();
      const read = await Promise.all([one, two].map(async ({ address }) => readAll(await found(logs, address))));
      expect(read).toEqual([entries("a"), entries("b")]);
    });
  });
}

function newLog({ writer }: LogsUnderTest, threadId = newThreadId()) {
  const address: TurnAddress = { threadId, turn: newTurnKey() };
  return { address, log: writer.create(address) };
}

async function found({ reader }: LogsUnderTest, address: TurnAddress): Promise<LogReader<ThreadEvent>> {
  const log = await reader.find(address);
  if (!log) throw new Error("the log is not found");
  return log;
}

function said(message: string): ThreadEvent {
  return { type: "warning", message };
}

function entries(...messages: string[]): Entry<ThreadEvent>[] {
  return messages.map((message, at) => ({ seq: at + 1, value: said(message) }));
}

async function readAll(log: LogReader<ThreadEvent>, reading?: LogReading): Promise<Entry<ThreadEvent>[]> {
  const read: Entry<ThreadEvent>[] = [];
  for await (const batch of log.read(reading)) read.push(...batch);
  return read;
}
