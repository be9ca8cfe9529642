import { type Fields, isFields, textOrNothing } from "../../../lib/fields.js";
import type { StoredMoment } from "../../../threads/store.js";
import { storageFailure } from "../failure.js";
import { parseLine } from "./rolloutLines.js";
import { parseSessionMeta, parseTurnContext, parseUsage } from "./rolloutReader.js";
import { wordsIn } from "./threadHead.js";
import { openRollout, threadLines } from "./threadLines.js";

type Moment = StoredMoment extends infer Each ? (Each extends StoredMoment ? Omit<Each, "at"> : never) : never;

/** The moments in a rollout, line by line, whichever version of Codex wrote it. Invalid lines are skipped. */
export async function* momentsOf(path: string, codexHome: string): AsyncGenerator<StoredMoment> {
  try {
    await using file = await openRollout(path);
    for await (const bytes of threadLines(file, codexHome)) {
      const line = parseLine(bytes);
      const moment = line && momentOf(line.type, line.payload);
      if (moment) yield { ...moment, at: timeOf(line.timestamp) };
    }
  } catch (error) {
    throw storageFailure("read the thread's file", path, error);
  }
}

function timeOf(timestamp: unknown): number | undefined {
  const at = typeof timestamp === "string" ? Date.parse(timestamp) : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

function momentOf(type: unknown, payload: Fields): Moment | undefined {
  switch (type) {
    case "session_meta": {
      const start = parseSessionMeta(payload);
      return start && { type: "settings", settings: start };
    }
    case "turn_context": {
      const { cwd, ...settings } = parseTurnContext(payload) ?? {};
      return cwd === undefined ? undefined : { type: "settings", settings: { ...settings, cwd } };
    }
    case "response_item":
      return typeof payload["type"] === "string" ? { type: "item", item: { ...payload, type: payload["type"] } } : undefined;
    case "compacted":
      return { type: "compacted", message: textOrNothing(payload["message"]) ?? "" };
    case "event_msg":
      return momentOfEvent(payload);
    default:
      return undefined;
  }
}

function momentOfEvent(event: Fields): Moment | undefined {
  switch (event["type"]) {
    case "user_message":
    case "item_completed": {
      const text = wordsIn(event);
      return text === undefined ? undefined : { type: "userSpoke", text, images: imageCount(event) };
    }
    case "token_count": {
      const usage = parseUsage(event["info"]);
      return usage && { type: "usage", usage };
    }
    case "task_started":
    case "turn_started":
      return { type: "turnStarted" };
    case "task_complete":
    case "turn_complete":
      return { type: "turnEnded", error: errorText(event["error"]), ms: durationOf(event) };
    case "turn_aborted":
      return { type: "interrupted", ms: durationOf(event) };
    case "error":
      return { type: "turnEnded", error: textOrNothing(event["message"]) ?? "" };
    case "thread_rolled_back":
      return typeof event["num_turns"] === "number" ? { type: "rolledBack", turns: event["num_turns"] } : undefined;
    case "entered_review_mode":
      return { type: "reviewStarted", hint: textOrNothing(event["user_facing_hint"]) ?? "" };
    case "exited_review_mode":
      return { type: "reviewEnded", text: reviewText(event["review_output"]) };
    default:
      return undefined;
  }
}

function imageCount({ images, local_images: files, item }: Fields): number {
  const content = isFields(item) ? item["content"] : undefined;
  const isImage = (part: unknown) => isFields(part) && /image/i.test(String(part["type"]));
  return [images, files, Array.isArray(content) ? content.filter(isImage) : []].reduce(
    (sum: number, list) => sum + (Array.isArray(list) ? list.length : 0),
    0,
  );
}

function durationOf({ duration_ms: ms }: Fields): number | undefined {
  return typeof ms === "number" && Number.isFinite(ms) && ms >= 0 ? ms : undefined;
}

/** Null for a turn that ended well. */
function errorText(error: unknown): string | null {
  return isFields(error) ? (textOrNothing(error["message"]) ?? "") : null;
}

function reviewText(output: unknown): string | null {
  return isFields(output) ? (textOrNothing(output["overall_explanation"]) ?? "") : null;
}
