import { describe, expect, it } from "vitest";
import { Mailbox } from "./mailbox.js";

async function everything<T>(box: Mailbox<T>): Promise<(readonly T[])[]> {
  const batches: (readonly T[])[] = [];
  for await (const batch of box.batches()) batches.push(batch);
  return batches;
}

describe("a mailbox", () => {
  it("gives together what came meanwhile, in its order, and ends when closed and empty", async () => {
    const box = new Mailbox<number>();
    box.put(1);
    box.put(2);
    box.close();
    expect(await everything(box)).toEqual([[1, 2]]);
  });

  it("wakes its reader for what comes while it waits", async () => {
    const box = new Mailbox<string>();
    const reader = box.batches();
    const first = reader.next();
    box.put("a");
    expect(await first).toEqual({ done: false, value: ["a"] });
    const second = reader.next();
    box.put("b");
    box.put("c");
    expect(await second).toEqual({ done: false, value: ["b", "c"] });
    const end = reader.next();
    box.close();
    expect(await end).toEqual({ done: true, value: undefined });
  });

  it("takes nothing more once it is closed", async () => {
    const box = new Mailbox<number>();
    box.close();
    box.put(1);
    expect(await everything(box)).toEqual([]);
  });
});
