import type { FileHandle } from "node:fs/promises";
import { APPROVAL_POLICIES, SANDBOX_MODES, type SandboxPolicy } from "../../../exec/policies.js";
import { type Fields, isFields, oneOf, textOrNothing, withoutUndefined } from "../../../lib/fields.js";
import { StorageFailed } from "../../../threads/errors.js";
import { pairStoredCalls } from "../../../threads/items.js";
import type { StoredSettings, ThreadHistory } from "../../../threads/store.js";
import type { TokenUsage, TokenUsageInfo } from "../../../threads/usage.js";
import { storageFailure } from "../failure.js";
import { Replay } from "./replay.js";
import type { FileMark } from "./rolloutFile.js";
import { parseLine } from "./rolloutLines.js";
import { wordsIn } from "./threadHead.js";
import { openRollout, threadLines } from "./threadLines.js";

interface ReadRollout {
  readonly threadId: string;
  readonly history: ThreadHistory;
  readonly readAs: FileMark;
}

/**
 * Reads a thread from its rollout, whichever version of Codex wrote it: invalid lines are skipped.
 * Throws `StorageFailed` when the file cannot be read or does not name its thread.
 */
export async function readRollout(path: string, codexHome: string): Promise<ReadRollout> {
  try {
    await using file = await openRollout(path);
    const { ino: inode, size } = await file.stat();
    if (size === 0) throw unusable(path, "empty session file");
    const { start, turn, usage, replay } = await tellStory(file, codexHome);
    if (!start) throw unusable(path, "failed to parse thread ID from rollout file (it has no valid session_meta line)");
    const { threadId, ...session } = start;
    return {
      threadId,
      history: { items: await pairStoredCalls(replay.items), usage, settings: { ...session, ...turn } },
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
      // A forked thread's file also contains its ancestors' metadata, after its own.
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

type SessionStart = { readonly threadId: string } & Pick<StoredSettings, "cwd" | "providerId" | "baseInstructions">;

/** The folder may differ from the one at the thread's start. */
type TurnSettings = Omit<StoredSettings, keyof SessionStart> & { readonly cwd?: string };

/** A `session_meta` payload; undefined without its required fields. */
export function parseSessionMeta(meta: Fields): SessionStart | undefined {
  const { id, cwd, base_instructions: base } = meta;
  if (typeof id !== "string" || typeof cwd !== "string") return undefined;
  return withoutUndefined({
    threadId: id,
    cwd,
    providerId: textOrNothing(meta["model_provider"]),
    baseInstructions: isFields(base) ? textOrNothing(base["text"]) : undefined,
  });
}

/** A `turn_context` payload; undefined without a model. Unknown values from other versions of Codex are left out. */
export function parseTurnContext(context: Fields): TurnSettings | undefined {
  const { model } = context;
  if (typeof model !== "string") return undefined;
  return withoutUndefined({
    cwd: textOrNothing(context["cwd"]),
    model,
    approvalPolicy: oneOf(APPROVAL_POLICIES, context["approval_policy"]),
    sandboxPolicy: parseSandboxPolicy(context["sandbox_policy"]),
    reasoningEffort: textOrNothing(context["effort"]),
    developerInstructions: textOrNothing(context["developer_instructions"]),
    looksOnly: context["looks_only"] === true || undefined,
  });
}

/** The `info` of a `token_count` event. */
export function parseUsage(info: unknown): TokenUsageInfo | undefined {
  if (!isFields(info)) return undefined;
  const total = parseTokens(info["total_token_usage"]);
  const last = parseTokens(info["last_token_usage"]);
  const contextWindow = info["model_context_window"];
  if (!total || !last) return undefined;
  return {
    total_token_usage: total,
    last_token_usage: last,
    model_context_window: typeof contextWindow === "number" ? contextWindow : null,
  };
}

function parseSandboxPolicy(policy: unknown): SandboxPolicy | undefined {
  if (!isFields(policy)) return undefined;
  // Rollouts of late 2025 call the field `mode`; ignoring it could resume a thread with more rights than it had.
  const type = oneOf(SANDBOX_MODES, policy["type"] ?? policy["mode"]);
  if (type !== "workspace-write") return type && { type };
  const roots = policy["writable_roots"];
  return withoutUndefined({
    type,
    writable_roots: Array.isArray(roots) ? roots.filter((root) => typeof root === "string") : undefined,
    network_access: policy["network_access"] === true,
    exclude_tmpdir_env_var: policy["exclude_tmpdir_env_var"] === true,
    exclude_slash_tmp: policy["exclude_slash_tmp"] === true,
  });
}

function parseTokens(usage: unknown): TokenUsage | undefined {
  if (!isFields(usage)) return undefined;
  const count = (key: keyof TokenUsage) => (typeof usage[key] === "number" ? usage[key] : 0);
  return {
    input_tokens: count("input_tokens"),
    cached_input_tokens: count("cached_input_tokens"),
    output_tokens: count("output_tokens"),
    reasoning_output_tokens: count("reasoning_output_tokens"),
    total_tokens: count("total_tokens"),
  };
}
