import { expect, it } from "vitest";
import { DeliveryLosses } from "./maintenance.js";

it("the dropped messages of a session are counted once, however often they are read", () => {
  const counted: unknown[] = [];
  const losses = new DeliveryLosses({
    messagesDropped: (count) => counted.push(`${count} dropped`),
    readerDisconnected: ({ reason }) => counted.push(reason),
  });
  const outbox = { counts: { sent: 9, dropped: 3, disconnected: 1 } };
  losses.count(outbox);
  losses.count(outbox);
  outbox.counts.dropped = 5;
  losses.count(outbox);
  expect(counted).toEqual(["3 dropped", "did not read", "2 dropped"]);
});
