import { writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { setStage } from "../../../../test/support/stage.js";
import { readShownEvents } from "./shownEvents.js";

it("of a long thread, the newest events are shown, as many as fit into 8 MiB", async () => {
  await using stage = await setStage();
  const file = path.join(stage.codexHome, "rollout.jsonl");
  const filling = "x".repeat(1_000);
  const lines = Array.from({ length: 20_000 }, (_, at) =>
    JSON.stringify({ timestamp: "t", type: "event_msg", payload: { type: "agent_message", message: `${at} ${filling}` } }),
  );
  writeFileSync(file, `${lines.join("\n")}\n`);
  const shown = await readShownEvents(file, stage.codexHome);
  const last = lines.slice(-shown.length);
  expect(shown).toEqual(last.map((line) => JSON.parse(line).payload));
  const bytes = last.join("").length;
  expect([bytes <= 8 * 2 ** 20, bytes + 2_000 > 8 * 2 ** 20]).toEqual([true, true]);
});
