import type { RawItem, ThreadEvent } from "../../threads/model.js";
import type { Conversation } from "./conversation.js";
import { message } from "./history.js";
import { textsOf } from "./items.js";
import { ModelFailure } from "./model/client.js";
import { compactionLimit } from "./models.js";

/** The user's own words are kept up to this size, newest first, beside the summary. */
const KEPT_USER_TOKENS = 20_000;
const CHARACTERS_PER_TOKEN = 4;

const COMPACT_PROMPT = `The conversation is about to be shortened. Write the note with which a colleague can take over this work without reading it. Cover, in this order and only where there is something to say:
1. What the user wants, with the constraints and preferences they gave.
2. What has been done: files and functions touched, commands that mattered and what they showed.
3. What was decided and why; what was tried and did not work.
4. What is left to do, the very next step first.
Name paths, identifiers, numbers and error texts exactly. No greetings, no comments on this request.`;

const SUMMARY_INTRODUCTION = "Earlier parts of this conversation were replaced by the following summary of them:";

export function needsCompaction(conversation: Conversation): boolean {
  return conversation.size >= compactionLimit(conversation.settings);
}

/** Replaces the history by its beginning, the user's latest messages and a summary that the model writes. Throws `ModelFailure`. */
export async function* compact(conversation: Conversation, signal: AbortSignal): AsyncGenerator<readonly ThreadEvent[]> {
  const summary = yield* summarise(conversation, signal);
  const replacement = [
    ...conversation.parts.initialContext,
    ...keptUserMessages(conversation.history.items()),
    message("user", `${SUMMARY_INTRODUCTION}\n${summary || "(no summary available)"}`),
  ];
  conversation.history.replace(replacement);
  conversation.noteSize(Math.ceil(conversation.history.inputText.length / CHARACTERS_PER_TOKEN));
  yield [
    conversation.tokenCount(),
    { type: "historyCompacted", message: summary, replacement },
    {
      type: "warning",
      message:
        "This thread has become long, and its earlier parts were summarised. Details may be lost: prefer a new thread for a new task.",
    },
  ];
}

async function* summarise(conversation: Conversation, signal: AbortSignal): AsyncGenerator<readonly ThreadEvent[], string> {
  const items = [...conversation.history.items(), message("user", conversation.settings.compactPrompt ?? COMPACT_PROMPT)];
  for (;;) {
    try {
      return yield* ask(conversation, items, signal);
    } catch (error) {
      // Even the request for a summary must fit: the oldest item goes, one at a time.
      if (!(error instanceof ModelFailure) || error.info !== "context_window_exceeded" || items.length <= 2) throw error;
      items.shift();
    }
  }
}

async function* ask(
  conversation: Conversation,
  items: readonly RawItem[],
  signal: AbortSignal,
): AsyncGenerator<readonly ThreadEvent[], string> {
  let summary = "";
  for await (const batch of conversation.parts.client.stream({ body: conversation.parts.template.bodyOf(items) }, signal)) {
    for (const event of batch) {
      if (event.type === "itemDone" && event.item.type === "message") summary = textsOf(event.item["content"], "output_text").join("");
      if (event.type === "completed" && event.usage) conversation.noteUsage(event.usage);
      if (event.type === "accepted" || event.type === "completed") yield [conversation.tokenCount()];
    }
  }
  return summary;
}

/** What the user said, without what the server put in their name; the newest, up to a limit, the oldest of them cut. */
function keptUserMessages(items: readonly RawItem[]): RawItem[] {
  const kept: RawItem[] = [];
  let room = KEPT_USER_TOKENS * CHARACTERS_PER_TOKEN;
  for (const item of [...items].reverse()) {
    const text = item.type === "message" && item["role"] === "user" ? textsOf(item["content"], "input_text").join("\n") : "";
    if (text === "" || isSynthetic(text)) continue;
    kept.unshift(message("user", text.slice(0, room)));
    room -= text.length;
    if (room <= 0) break;
  }
  return kept;
}

const SYNTHETIC = ["<environment_context>", "# AGENTS.md instructions for ", "<turn_aborted>", SUMMARY_INTRODUCTION];

function isSynthetic(text: string): boolean {
  return SYNTHETIC.some((start) => text.startsWith(start));
}
