import { keepOutput, keepPart } from "./openItems.js";
import { numberOf, saidText } from "./read.js";
import type { Translation } from "./turnState.js";

/** What is streamed of an item that is not open belongs to nothing a reader has seen. */

export const messageDelta: Translation = ({ itemId, delta }, { items }) => {
  const open = items.find(itemId);
  const text = saidText(delta);
  if (!open?.isShown || text === undefined) return [];
  open.text += text;
  return [{ type: "messageDelta", itemId: open.id, delta: text }];
};

export const summaryPartAdded: Translation = ({ itemId, summaryIndex }, { items }) => {
  const open = items.find(itemId);
  return open ? [{ type: "reasoningSectionBreak", itemId: open.id, summaryIndex: numberOf(summaryIndex) ?? 0 }] : [];
};

export const summaryDelta: Translation = ({ itemId, delta, summaryIndex }, { items }) => {
  const open = items.find(itemId);
  const text = saidText(delta);
  if (!open || text === undefined) return [];
  const index = numberOf(summaryIndex) ?? 0;
  keepPart(open.summary, index, text);
  return [{ type: "reasoningDelta", itemId: open.id, summaryIndex: index, delta: text }];
};

export const rawReasoningDelta: Translation = ({ itemId, delta, contentIndex }, { items, settings }) => {
  const open = items.find(itemId);
  const text = saidText(delta);
  if (!open || text === undefined || !settings.showRawAgentReasoning) return [];
  const index = numberOf(contentIndex) ?? 0;
  keepPart(open.content, index, text);
  return [{ type: "rawReasoningDelta", itemId: open.id, contentIndex: index, delta: text }];
};

export const commandOutput: Translation = ({ itemId, delta }, { items }) => {
  const open = items.find(itemId);
  const text = saidText(delta);
  if (!open || text === undefined) return [];
  keepOutput(open, text);
  return [{ type: "commandOutput", callId: open.id, stream: "stdout", bytes: Buffer.from(text) }];
};

/** A change that is still being written grows. */
export const patchUpdated: Translation = ({ itemId, changes }, { items }) => {
  const open = items.find(itemId);
  if (open && Array.isArray(changes)) open.item = { ...open.item, changes };
  return [];
};
