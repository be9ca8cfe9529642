import { expect, it } from "vitest";
import { Novelties } from "./novelties.js";

it("each unknown name of Codex is reported once", () => {
  const lines: string[] = [];
  const novelties = new Novelties((line) => lines.push(line));
  for (let round = 0; round < 2; round++) {
    novelties.notified("turn/started", {});
    novelties.notified("item/started", { item: { type: "agentMessage", id: "1" } });
    novelties.notified("turn/dreamt", {});
    novelties.notified("item/started", { item: { type: "hologram", id: "2" } });
    novelties.notified("item/started", "odd");
    novelties.asked("item/fileChange/requestApproval");
    novelties.asked("item/hologram/requestApproval");
  }
  expect(lines).toEqual([
    "codex: the notification turn/dreamt is not known here and is ignored; a newer codex-mcpd may know it",
    "codex: the item kind hologram is not known here and is ignored; a newer codex-mcpd may know it",
    "codex: the request item/hologram/requestApproval is not known here and is ignored; a newer codex-mcpd may know it",
  ]);
});

it("only a limited number of unknown names is reported", () => {
  const lines: string[] = [];
  const novelties = new Novelties((line) => lines.push(line));
  for (let at = 0; at < 1_000; at++) novelties.notified(`thing/${at}`, {});
  expect(lines).toHaveLength(100);
});
