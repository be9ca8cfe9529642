import { isFields } from "../lib/fields.js";
import type { RawItem } from "../threads/items.js";
import { findingsIn, isReviewRequest, type ReviewFinding } from "../threads/reviewFindings.js";
import type { StoredStory, ThreadHistory } from "../threads/store.js";

/** The agent's final answer on a thread without a running turn. */
export interface LastAnswer {
  readonly text: string;
  readonly cwd: string;
  /** Only for a review. */
  readonly findings?: readonly ReviewFinding[];
}

/** How a thread's last turn ended, if it left no answer. */
export type SilentEnd =
  | { readonly how: "failed"; readonly error: string }
  /** `interrupted` includes the end of its server; `unknown`: the record has no end of the turn. */
  | { readonly how: "completed" | "interrupted" | "unknown" };

/** The final message of the last turn. Earlier messages, and messages before a tool call, are not its answer. */
export function lastAnswerIn({ items, settings: { cwd } }: ThreadHistory): LastAnswer | undefined {
  const isStep = ({ type, role }: RawItem) =>
    type === "message" ? role === "assistant" || role === "user" : /_(?:call|output)$/.test(type);
  const last = items.findLast(isStep);
  if (last?.["role"] !== "assistant" || !Array.isArray(last["content"])) return undefined;
  const text = textOf(last);
  const request = items.findLast(({ type, role }) => type === "message" && role === "user");
  return { text, cwd, ...(request && isReviewRequest(textOf(request)) && { findings: findingsIn(text) }) };
}

/** How the last turn ended, according to the thread's record. */
export async function lastEnd({ moments }: StoredStory): Promise<SilentEnd> {
  let end: SilentEnd = { how: "unknown" };
  let isMarked = false;
  for await (const moment of moments) {
    if (moment.type === "turnStarted") isMarked = true;
    else if (moment.type === "interrupted" || moment.type === "turnEnded") isMarked = false;
    if (moment.type === "turnStarted" || moment.type === "interrupted") end = { how: "interrupted" };
    // A turn of an older record, which has no marks, perhaps after an interrupted one.
    else if (moment.type === "userSpoke" && !isMarked) end = { how: "unknown" };
    else if (moment.type === "item" && end.how !== "interrupted") end = { how: "unknown" };
    // Other programs record a failure first and then an end without it.
    else if (moment.type === "turnEnded" && moment.error !== null) end = { how: "failed", error: moment.error };
    else if (moment.type === "turnEnded" && end.how !== "failed") end = { how: "completed" };
    else if (moment.type === "rolledBack") end = { how: "unknown" };
  }
  return end;
}

function textOf({ content }: RawItem): string {
  if (!Array.isArray(content)) return "";
  return content.map((part: unknown) => (isFields(part) && typeof part["text"] === "string" ? part["text"] : "")).join("");
}
