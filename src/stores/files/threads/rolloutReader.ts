import { promises } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import type { Fields } from "../../../lib/fields.js";
import { StorageFailed } from "../../../threads/errors.js";
import { pairToolCalls } from "../../../threads/pairToolCalls.js";
import type { ThreadHistory } from "../../../threads/store.js";
import type { TokenUsageInfo } from "../../../threads/usage.js";
import { storageFailure } from "../failure.js";
import { wordsIn } from "./firstWords.js";
import { parseLine } from "./parseLine.js";
import { Replay } from "./replay.js";
import type { FileMark } from "./rolloutFile.js";
import { parseSessionMeta, parseTurnContext, parseUsage, type SessionStart, type TurnSettings } from "./storedSettings.js";
import { threadLines } from "./threadLines.js";

interface ReadRollout {
  readonly threadId: string;
  readonly history: ThreadHistory;
  readonly readAs: FileMark;
}

/**
 * A thread as its rollout tells it, whichever version of Codex wrote it: lines that cannot be understood are passed over.
 * Throws `StorageFailed` when the file cannot be read or does not say which thread it is.
 */
export async function readRollout(path: string, codexHome: string): Promise<ReadRollout> {
  try {
    await using file = await promises.open(path, "r");
    const { ino: inode, size } = await file.stat();
    if (size === 0) throw unusable(path, "empty session file");
    const { start, turn, usage, replay } = await tellStory(file, codexHome);
    if (!start) throw unusable(path, "failed to parse thread ID from rollout file (it has no valid session_meta line)");
    const { threadId, ...session } = start;
    return {
      threadId,
      history: { items: pairToolCalls(replay.items), usage, settings: { ...session, ...turn } },
      readAs: { inode, size },
    };
  } catch (error) {
    throw storageFailure("read the thread's file", path, error);
  }
}

function unusable(path: string, reason: string): StorageFailed {
  return new StorageFailed(`Cannot read the thread's file ${path}: ${reason}. Restore the file, or start a new thread.`);
}

interface Story {
  readonly replay: Replay;
  start: SessionStart | undefined;
  turn: TurnSettings | undefined;
  usage: TokenUsageInfo | null;
}

async function tellStory(file: FileHandle, codexHome: string): Promise<Story> {
  const story: Story = { replay: new Replay(), start: undefined, turn: undefined, usage: null };
  for await (const bytes of threadLines(file, codexHome)) {
    const line = parseLine(bytes);
    if (line) follow(story, line.type, line.payload);
  }
  return story;
}

function follow(story: Story, type: unknown, payload: Fields): void {
  switch (type) {
    case "session_meta":
      // A forked thread's file holds the metas of its ancestors as well, after its own.
      story.start ??= parseSessionMeta(payload);
      break;
    case "turn_context":
      story.turn = parseTurnContext(payload) ?? story.turn;
      break;
    case "response_item":
      story.replay.addItem(payload);
      break;
    case "compacted":
      story.replay.compacted(payload);
      break;
    case "event_msg":
      followEvent(story, payload);
  }
}

function followEvent(story: Story, event: Fields): void {
  switch (event["type"]) {
    case "user_message":
      story.replay.userSpoke(event);
      break;
    case "item_completed":
      if (wordsIn(event) !== undefined) story.replay.userSpoke(event);
      break;
    case "thread_rolled_back":
      story.replay.rolledBack(event);
      break;
    case "token_count":
      story.usage = parseUsage(event["info"]) ?? story.usage;
  }
}
