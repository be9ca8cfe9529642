import { promises } from "node:fs";
import { type Fields, isFields, textOrNothing } from "../../../lib/fields.js";
import type { ShownEvent } from "../../../threads/store.js";
import { storageFailure } from "../failure.js";
import { parseLine } from "./rolloutLines.js";
import { threadLines } from "./threadLines.js";

/** What is told of a thread at once. A longer one begins in its middle. */
const MOST_BYTES = 8 * 1024 * 1024;

/**
 * The events that a rollout keeps, in file order: what a front end shows of a thread's past. Later versions of Codex keep whole items in the place of
 * messages, which are told as messages then. Lines that cannot be understood are passed over.
 */
export async function readShownEvents(path: string, codexHome: string): Promise<readonly ShownEvent[]> {
  const kept: { readonly event: ShownEvent; readonly bytes: number; readonly isItem: boolean }[] = [];
  let size = 0;
  let hasMessages = false;
  try {
    await using file = await promises.open(path, "r");
    for await (const line of threadLines(file, codexHome)) {
      const { type, payload } = parseLine(line) ?? {};
      if (type !== "event_msg" || !payload) continue;
      const items = messagesIn(payload);
      hasMessages ||= payload["type"] === "user_message";
      for (const event of items ?? asEvent(payload)) {
        kept.push({ event, bytes: line.length, isItem: items !== undefined });
        size += line.length;
      }
      while (size > MOST_BYTES && kept.length > 1) size -= kept.shift()?.bytes ?? 0;
    }
  } catch (error) {
    throw storageFailure("read the thread's file", path, error);
  }
  // A file that has both tells everything twice.
  return kept.filter(({ isItem }) => !isItem || !hasMessages).map(({ event }) => event);
}

function asEvent(payload: Fields): ShownEvent[] {
  const { type } = payload;
  return typeof type === "string" ? [{ ...payload, type }] : [];
}

/** The messages that a completed item stands for; undefined for what is no item. */
function messagesIn({ type, item }: Fields): ShownEvent[] | undefined {
  if (type !== "item_completed") return undefined;
  if (!isFields(item)) return [];
  const message = textsIn(item["content"]);
  if (item["type"] === "UserMessage") return [{ type: "user_message", message: message.join("") }];
  return item["type"] === "AgentMessage" ? message.map((text) => ({ type: "agent_message", message: text })) : [];
}

function textsIn(content: unknown): string[] {
  if (!Array.isArray(content)) return [];
  return content.flatMap((part: unknown) => (isFields(part) ? [textOrNothing(part["text"]) ?? ""] : []));
}
