import { type Fields, isFields, textOrNothing } from "../../../lib/fields.js";
import { oneLine } from "../../../lib/oneLine.js";

/** Editors put what is open in them before the request, under headings of their own; the request comes last. */
const REQUEST_HEADING = "## My request for Codex:";
const PREVIEW_LENGTH = 160;
const LONGEST_LOOKED_AT = 4_096;

/** What a person said, in an event of a rollout; undefined for other events, and for context in the form of a message. */
export function wordsIn(event: Fields): string | undefined {
  const { kind } = event;
  switch (event["type"]) {
    case "user_message":
      return kind === undefined || kind === null || kind === "plain" ? textOrNothing(event["message"]) : undefined;
    case "item_completed":
      return isFields(event["item"]) && event["item"]["type"] === "UserMessage" ? textOf(event["item"]["content"]) : undefined;
    default:
      return undefined;
  }
}

/** The request on one line that is not too long to list. */
export function previewOf(words: string): string {
  const heading = words.indexOf(REQUEST_HEADING);
  const request = heading === -1 ? words : words.slice(heading + REQUEST_HEADING.length);
  return oneLine(request.trimStart().slice(0, LONGEST_LOOKED_AT), PREVIEW_LENGTH);
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return "";
  return content.map((part: unknown) => (isFields(part) ? (textOrNothing(part["text"]) ?? "") : "")).join("");
}
