import { expect, it } from "vitest";
import { SeededRandom } from "../../../../test/support/patch/random.js";
import { settingsIn } from "../../../../test/support/threads/rollouts.js";
import { eventMsgs } from "../../../codexwire/eventMsg.js";
import { threadIdOf, turnIdOf } from "../../../lib/ids.js";
import type { ThreadEvent } from "../../../threads/events.js";
import { isTurnEnd } from "../../../threads/turn.js";
import { ITEM_KINDS } from "./items.js";
import { NOTIFICATIONS } from "./notifications.js";
import { approvalAnswer, SERVER_REQUESTS, serverRequest } from "./serverRequests.js";
import { ThreadMemory } from "./threadMemory.js";
import { TurnTranslator, turnEndOf } from "./turnTranslator.js";

const SEEDS = Array.from({ length: 12 }, (_, at) => at + 1);
const METHODS = [...NOTIFICATIONS.keys(), "something/new", ""];
const REQUESTS = [...SERVER_REQUESTS.keys(), "something/new"];
const TYPES = [...ITEM_KINDS.keys(), "hologram", "function_call", "function_call_output", "message"];
const TEXTS = [
  "",
  "c1",
  "c2",
  "completed",
  "failed",
  "declined",
  "exec_command",
  "{",
  '{"cmd":"x"}',
  "a 'b",
  "Output:\n",
  "\u0000",
  "1/2",
  "é",
];
const KEYS = `
action additionalDetails aggregatedOutput arguments call_id changes codexErrorInfo command commandActions content contentIndex cwd delta
diff error exitCode explanation id item itemId items kind message mode name output params path permissions plan questions requestedSchema
review result run server status step summary summaryIndex text tokenUsage tool total turn turnId type willRetry
`
  .trim()
  .split(/\s+/);

function anything(random: SeededRandom, depth = 0): unknown {
  const kinds = depth > 4 ? 5 : 8;
  switch (random.below(kinds)) {
    case 0:
      return null;
    case 1:
      return random.chance(0.5);
    case 2:
      return random.pick([0, -1, 3, 1e9, 0.5]);
    case 3:
      return random.pick(TYPES);
    case 4:
      return random.pick(TEXTS);
    case 5:
      return random.several(0, 4, () => anything(random, depth + 1));
    default:
      return someFields(random, depth);
  }
}

function someFields(random: SeededRandom, depth: number): Record<string, unknown> {
  return Object.fromEntries(random.several(0, 10, () => [random.pick(KEYS), anything(random, depth + 1)]));
}

/** Partly valid: an item with a kind, and an id that occurs again. */
function someParams(random: SeededRandom): unknown {
  if (random.chance(0.3)) return anything(random);
  const id = random.pick(["c1", "c2", "c3"]);
  return { ...someFields(random, 0), itemId: id, item: { ...someFields(random, 1), type: random.pick(TYPES), id, call_id: id } };
}

function opened(events: readonly ThreadEvent[]): string[] {
  const open = new Map<string, string>();
  for (const event of events) {
    if (event.type === "itemStarted") open.set(event.item.id, event.item.kind);
    if (event.type === "itemCompleted") open.delete(event.item.id);
    if (event.type === "commandStarted" || event.type === "patchStarted" || event.type === "mcpToolStarted")
      open.set(event.callId, event.type);
    if (event.type === "commandEnded" || event.type === "patchEnded" || event.type === "mcpToolEnded") open.delete(event.callId);
  }
  return [...open.values()];
}

it.each(SEEDS)("whatever the app-server sends, a turn starts once, completes its items, and ends once: seed %i", (seed) => {
  const random = new SeededRandom(seed);
  const settings = settingsIn("/ws", { showRawAgentReasoning: true });
  const memory = new ThreadMemory();
  const where = { threadId: threadIdOf("01a1dd1a-6d22-73e1-88aa-ccf523ae5caa"), turnId: turnIdOf("2") };
  for (let turn = 0; turn < 4; turn++) {
    memory.betweenTurns(random.pick(METHODS), someParams(random));
    const translator = new TurnTranslator({ memory, settings, sandboxBackend: "codex" });
    const events = random.several(1, 250, () => {
      const params = someParams(random);
      if (random.chance(0.9)) return translator.notification(random.pick(METHODS), params);
      const method = random.pick(REQUESTS);
      const reaction = serverRequest(method, params, { items: translator.openItems, settings });
      if (reaction.kind === "ask") JSON.stringify(approvalAnswer(method, params, { kind: "approved" }));
      return translator.asked(params);
    });
    const all = [...events.flat(), ...translator.end(turnEndOf(anything(random)))];
    expect(all.filter(({ type }) => type === "turnStarted")).toHaveLength(1);
    expect(all.filter(isTurnEnd)).toEqual([all.at(-1)]);
    expect(opened(all)).toEqual([]);
    expect(() => JSON.stringify(all.flatMap((event) => eventMsgs(event, where)))).not.toThrow();
  }
});
