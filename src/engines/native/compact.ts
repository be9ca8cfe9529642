import type { ThreadEvent } from "../../threads/events.js";
import type { RawItem } from "../../threads/items.js";
import { pairToolCalls } from "../../threads/items.js";
import { INJECTED_BEGINNINGS } from "../../threads/transcript.js";
import { type Conversation, RequestTemplate } from "./conversation.js";
import { ModelFailure, RetryBudget, waitForRetry } from "./model/client.js";
import { message, partTexts } from "./model/items.js";
import { compactionLimit } from "./model/modelTraits.js";

/** The user's own messages are kept beside the summary up to this size, newest first; less where the context window is small. */
const KEPT_USER_TOKENS = 20_000;
const KEPT_USER_SHARE = 0.5;
const CHARACTERS_PER_TOKEN = 4;

const COMPACT_PROMPT = `The conversation is about to be shortened. Write the note with which a colleague can take over this work without reading it. Cover, in this order and only where there is something to say:
1. What the user wants, with the constraints and preferences they gave.
2. What has been done: files and functions touched, commands that mattered and what they showed.
3. What was decided and why; what was tried and did not work.
4. What is left to do, the very next step first.
Name paths, identifiers, numbers and error texts exactly. No greetings, no comments on this request.`;

const SUMMARY_INTRODUCTION = "Earlier parts of this conversation were replaced by the following summary of them:";

/** Whether there is anything to summarise. */
export function hasPast({ history }: Conversation): boolean {
  return history.items().some((item) => spokenText(item) !== "");
}

/** Replaces the history by its beginning, the user's latest messages and a summary that the model writes. Throws `ModelFailure`. */
export async function* compact(conversation: Conversation, signal: AbortSignal): AsyncGenerator<readonly ThreadEvent[]> {
  const summary = yield* summarise(conversation, signal);
  const replacement = [
    ...conversation.parts.initialContext,
    ...keptUserMessages(conversation.history.items(), keptTokens(conversation) * CHARACTERS_PER_TOKEN),
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
        "Heads up: Long threads and multiple compactions can cause the model to be less accurate. Start a new thread when possible to keep threads small and targeted.",
    },
  ];
}

async function* summarise(conversation: Conversation, signal: AbortSignal): AsyncGenerator<readonly ThreadEvent[], string> {
  const budget = new RetryBudget(conversation.settings.provider);
  const request = message("user", conversation.settings.compactPrompt ?? COMPACT_PROMPT);
  let items: readonly RawItem[] = [...conversation.history.items(), request];
  for (;;) {
    try {
      return yield* ask(conversation, items, signal);
    } catch (error) {
      if (!(error instanceof ModelFailure)) throw error;
      // Even the request for a summary must fit: the oldest item is dropped, one at a time, a call together with its output.
      if (error.info === "context_window_exceeded" && items.length > 2) {
        items = pairToolCalls(items.slice(1));
        continue;
      }
      const withOther = await conversation.afterRefusedModel(error, signal);
      if (withOther) yield withOther;
      else yield* waitForRetry(budget, error, signal);
    }
  }
}

async function* ask(
  conversation: Conversation,
  items: readonly RawItem[],
  signal: AbortSignal,
): AsyncGenerator<readonly ThreadEvent[], string> {
  const { threadId, client } = conversation.parts;
  const { settings } = conversation;
  // Without tools, so that the response is a summary and not a call.
  const body = new RequestTemplate({ threadId, settings, tools: [] }).bodyOf(items);
  let summary = "";
  for await (const batch of client.stream({ body }, signal)) {
    for (const event of batch) {
      if (event.type === "itemDone" && event.item.type === "message") summary = partTexts(event.item["content"], "output_text").join("");
      if (event.type === "completed" && event.usage) conversation.noteUsage(event.usage);
      if (event.type === "accepted" || event.type === "completed") yield [conversation.tokenCount()];
    }
  }
  return summary;
}

// A conversation that needs another summary right after this one would never progress.
function keptTokens({ settings }: Conversation): number {
  return Math.min(KEPT_USER_TOKENS, Math.floor(compactionLimit(settings) * KEPT_USER_SHARE));
}

/** The user's messages, newest first up to a limit; the oldest of them is shortened. */
function keptUserMessages(items: readonly RawItem[], characters: number): RawItem[] {
  const kept: RawItem[] = [];
  let room = characters;
  for (const item of [...items].reverse()) {
    const text = spokenText(item);
    if (text === "") continue;
    kept.unshift(message("user", startOf(text, room)));
    room -= text.length;
    if (room <= 0) break;
  }
  return kept;
}

/** The user's text in this item; empty for other items, and for text the server added in the user's name. */
export function spokenText(item: RawItem): string {
  const text = item.type === "message" && item["role"] === "user" ? partTexts(item["content"], "input_text").join("\n") : "";
  return isSynthetic(text) ? "" : text;
}

/** The first characters, without a split surrogate pair at the end. */
function startOf(text: string, length: number): string {
  return text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");
}

const SYNTHETIC = [...INJECTED_BEGINNINGS, SUMMARY_INTRODUCTION];

function isSynthetic(text: string): boolean {
  return SYNTHETIC.some((start) => text.startsWith(start));
}
