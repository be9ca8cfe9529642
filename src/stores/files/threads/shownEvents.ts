import { type Fields, isFields, textOrNothing } from "../../../lib/fields.js";
import type { ShownEvent } from "../../../threads/store.js";
import { storageFailure } from "../failure.js";
import { parseLine } from "./rolloutLines.js";
import { openRollout, threadLines } from "./threadLines.js";

/** The size limit of a thread's recorded events; a longer one begins in the middle. */
const MOST_BYTES = 8 * 1024 * 1024;

/**
 * The recorded events in file order, which a front end shows as a thread's past. Later versions of Codex record items in place of messages;
 * those are converted to messages. Invalid lines are skipped.
 */
export async function readShownEvents(path: string, codexHome: string): Promise<readonly ShownEvent[]> {
  const kept: { readonly event: ShownEvent; readonly bytes: number; readonly isItem: boolean }[] = [];
  let size = 0;
  /** The index of the first event that is kept: to take it out of the array would move all others. */
  let first = 0;
  let hasMessages = false;
  try {
    await using file = await openRollout(path);
    for await (const line of threadLines(file, codexHome)) {
      const { type, payload } = parseLine(line) ?? {};
      if (type !== "event_msg" || !payload) continue;
      const items = messagesIn(payload);
      hasMessages ||= payload["type"] === "user_message";
      for (const event of items ?? asEvent(payload)) {
        kept.push({ event, bytes: line.length, isItem: items !== undefined });
        size += line.length;
      }
      while (size > MOST_BYTES && kept.length - first > 1) size -= kept[first++]?.bytes ?? 0;
      if (first > kept.length / 2) {
        kept.splice(0, first);
        first = 0;
      }
    }
  } catch (error) {
    throw storageFailure("read the thread's file", path, error);
  }
  // A file with both kinds would show everything twice.
  return kept
    .slice(first)
    .filter(({ isItem }) => !isItem || !hasMessages)
    .map(({ event }) => event);
}

function asEvent(payload: Fields): ShownEvent[] {
  const { type } = payload;
  return typeof type === "string" ? [{ ...payload, type }] : [];
}

/** The messages of a completed item; undefined for other events. */
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
