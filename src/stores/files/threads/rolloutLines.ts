import { eventMsgs } from "../../../codexwire/eventMsg.js";
import { assertNever } from "../../../lib/assertNever.js";
import { type Fields, isFields } from "../../../lib/fields.js";
import { readGitCheckout } from "../../../lib/files/gitFiles.js";
import type { MayRead } from "../../../lib/files/guardedRead.js";
import { type ThreadId, type TurnKey, turnIdOf } from "../../../lib/ids.js";
import { isInside } from "../../../platform/paths.js";
import type { ThreadEvent } from "../../../threads/events.js";
import type { Reach } from "../../../threads/limits.js";
import type { ThreadSettings } from "../../../threads/settings.js";
import type { NewThread } from "../../../threads/store.js";

type LineType = "session_meta" | "response_item" | "event_msg" | "turn_context" | "compacted";

/** One line of a rollout. The timestamp has three fractional digits and `Z`, as in Codex. */
function rolloutLine(type: LineType, payload: unknown, at: Date): string {
  return `{"timestamp":"${at.toISOString()}","type":"${type}","payload":${JSON.stringify(payload)}}\n`;
}

interface Stamp {
  readonly threadId: ThreadId;
  /** The key of the turn being written: its start and end carry it, so that readers can pair them. */
  readonly turnKey: TurnKey;
  /** How long the turn has run by now. */
  readonly ranMs: number;
  readonly at: Date;
}

/** The lines that a rollout keeps of a batch of events, ready to append; empty when it keeps none. */
export function rolloutLines(events: readonly ThreadEvent[], stamp: Stamp): string {
  let text = "";
  for (const event of events) text += linesOf(event, stamp);
  return text;
}

function linesOf(event: ThreadEvent, stamp: Stamp): string {
  switch (event.type) {
    case "rawItem":
    case "unseenItem":
    case "contextItem":
      return rolloutLine("response_item", event.item, stamp.at);
    case "turnContext":
      return rolloutLine("turn_context", turnContext(event.settings), stamp.at);
    case "historyCompacted": {
      const compacted = { message: event.message, replacement_history: event.replacement };
      return rolloutLine("compacted", compacted, stamp.at) + eventLines(event, stamp);
    }
    case "itemCompleted":
    case "tokenCount":
    case "reviewStarted":
    case "reviewEnded":
      return eventLines(event, stamp);
    case "turnStarted":
    case "turnCompleted":
    case "turnFailed":
    case "turnAborted":
      return rolloutLine("event_msg", turnMark(event, stamp), stamp.at);
    case "threadConfigured":
    case "deprecation":
    case "mcpStartupCompleted":
    case "itemStarted":
    case "messageDelta":
    case "reasoningDelta":
    case "rawReasoningDelta":
    case "reasoningSectionBreak":
    case "commandStarted":
    case "commandOutput":
    case "commandResumed":
    case "commandTyped":
    case "commandEnded":
    case "patchStarted":
    case "patchEnded":
    case "turnDiff":
    case "imageViewed":
    case "mcpStartupUpdated":
    case "mcpToolStarted":
    case "mcpToolEnded":
    case "approvalRequested":
    case "approvalDecided":
    case "planUpdated":
    case "warning":
    case "agentChanged":
    case "backgroundNote":
    case "modelRetry":
      return "";
    default:
      return assertNever(event);
  }
}

type TurnMark = Extract<ThreadEvent, { type: "turnStarted" | "turnCompleted" | "turnFailed" | "turnAborted" }>;

/**
 * The start and the end of a turn, in Codex's format since 0.150. Without them, a reader cannot tell a failed turn from a completed one.
 */
function turnMark(event: TurnMark, { turnKey, ranMs }: Stamp): unknown {
  const duration_ms = Math.round(ranMs);
  switch (event.type) {
    case "turnStarted":
      return { type: "task_started", turn_id: turnKey, model_context_window: event.contextWindow };
    case "turnCompleted":
      return { type: "task_complete", turn_id: turnKey, last_agent_message: event.lastMessage, duration_ms };
    case "turnFailed": {
      const error = { message: event.message, codex_error_info: event.info };
      return { type: "task_complete", turn_id: turnKey, last_agent_message: null, error, duration_ms };
    }
    case "turnAborted":
      return { type: "turn_aborted", turn_id: turnKey, reason: event.reason, duration_ms };
  }
}

/** The events that Codex keeps; the others can be derived from the items. */
const KEPT_EVENTS = new Set([
  "user_message",
  "agent_message",
  "agent_reasoning",
  "agent_reasoning_raw_content",
  "token_count",
  "context_compacted",
  "entered_review_mode",
  "exited_review_mode",
]);

// None of the kept events contains a turn id.
const NO_TURN = turnIdOf("");

function eventLines(event: ThreadEvent, { threadId, at }: Stamp): string {
  let text = "";
  for (const msg of eventMsgs(event, { threadId, turnId: NO_TURN }))
    if (KEPT_EVENTS.has(msg.type)) text += rolloutLine("event_msg", msg, at);
  return text;
}

function turnContext(settings: ThreadSettings): unknown {
  return {
    cwd: settings.cwd,
    approval_policy: settings.approvalPolicy,
    sandbox_policy: settings.sandboxPolicy,
    model: settings.model,
    effort: settings.reasoningEffort,
    summary: settings.reasoningSummary,
    developer_instructions: settings.developerInstructions,
    truncation_policy: { mode: "tokens", limit: 10_000 },
    // Codex ignores unknown fields.
    looks_only: settings.looksOnly,
  };
}

export interface Origin {
  /** The version of this server. */
  readonly version: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The first line of a rollout: the thread's id and origin. */
export function sessionMetaLine({ id, settings, reach }: NewThread, origin: Origin, startedAt: Date): string {
  const { cwd, provider, baseInstructions } = settings;
  const meta = {
    id,
    timestamp: startedAt.toISOString(),
    cwd,
    ...writtenBy(origin),
    model_provider: provider.id,
    base_instructions: baseInstructions === undefined ? null : { text: baseInstructions },
    git: readGitCheckout(cwd, readableWithin(reach)),
  };
  return rolloutLine("session_meta", meta, new Date());
}

/** Everyone who may read the thread can read its record. */
function readableWithin({ folders, foreign = [] }: Partial<Reach> = {}): MayRead {
  const isIn = (places: readonly string[], file: string) => places.some((place) => isInside(file, place));
  return (file) => (folders === undefined || isIn(folders, file)) && !isIn(foreign, file);
}

/** The first line of a fork. As in Codex, the source's first line follows, with its whole content. */
export function forkedMetaLine(source: Fields, { id, origin, startedAt }: { id: ThreadId; origin: Origin; startedAt: Date }): string {
  const { id: forkedFrom, cwd, model_provider, base_instructions, git } = source;
  const timestamp = startedAt.toISOString();
  const meta = { id, forked_from_id: forkedFrom, timestamp, cwd, ...writtenBy(origin), model_provider, base_instructions, git };
  return rolloutLine("session_meta", meta, startedAt);
}

function writtenBy({ version, env }: Origin): Fields {
  return { originator: env["CODEX_INTERNAL_ORIGINATOR_OVERRIDE"] || "codex_cli_rs", cli_version: version, source: "mcp" };
}

/** A line of a rollout; undefined for an invalid one. */
export function parseLine(bytes: Buffer): { readonly type: unknown; readonly payload: Fields; readonly timestamp: unknown } | undefined {
  try {
    const line: unknown = JSON.parse(bytes.toString("utf8"));
    if (!isFields(line) || !isFields(line["payload"])) return undefined;
    return { type: line["type"], payload: line["payload"], timestamp: line["timestamp"] };
  } catch {
    return undefined;
  }
}
