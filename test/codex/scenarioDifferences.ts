import type { Difference } from "../support/scenarios/compareTranscripts.js";
import type { OwnSide } from "../support/scenarios/declaredDifferences/ownSide.js";
import { CLEAN_EXIT, files, interrupted } from "../support/scenarios/declaredDifferences/phrases.js";

/** Where scenarios played with the engine codex differ from the recordings, apart from the differences that occur everywhere. */
export interface ScenarioDifference {
  /** Aspects of the comparison. The name of an event type means the contents of its events. */
  readonly differs: readonly string[];
  readonly scenarios: readonly string[];
  /** True if it occurs in some runs only. */
  readonly varies?: true;
}

export interface CodexDifference extends ScenarioDifference {
  readonly why: string;
}

/** The name of a difference in the lists below. */
export function placeOf({ aspect, about }: Difference): string {
  const [type = ""] = about.split(" of call ");
  if (aspect === "contents") return type;
  return aspect === "fields" ? `fields of ${type}` : aspect;
}

/** Differences made by the server itself, for the reasons declared for the engine native. */
export const AS_NATIVE: readonly ScenarioDifference[] = [
  {
    differs: ["answers"],
    scenarios: [
      "batch-array",
      "init-empty-params",
      "init-no-params",
      "init-unknown-version",
      "malformed-json",
      "optional-methods",
      "unknown-method",
    ],
  },
  { differs: ["notifications"], scenarios: ["turn-progress-token"] },
  { differs: ["session_configured"], scenarios: ["cli-flags"] },
  { differs: ["ending"], scenarios: ["bad-config-toml", "cancel-hang", "cancel-mid-shell", "cancel-mid-stream"] },
  { differs: ["notifications", "ending"], scenarios: ["cancel-during-approval", "escalate-cancel", "exec-no-answer-then-cancel"] },
  {
    differs: ["answers", "events"],
    scenarios: ["eof-during-stream", "reply-after-failed-turn", "reply-after-restart"],
  },
  { differs: ["answers", "ending"], scenarios: ["escalate-decision-abort", "exec-decision-abort", "patch-ro-abort"] },
  {
    differs: ["answers", "events", "ending"],
    scenarios: [
      "eof-during-hang",
      "eof-during-shell",
      "escalate-rpc-error",
      "exec-rpc-error",
      "patch-rpc-error",
      "reply-after-cancel",
      "sigterm-during-shell",
      "two-on-one-thread",
    ],
  },
  {
    differs: ["answers", "notifications", "events", "ending"],
    scenarios: ["eof-during-approval", "escalate-answer-as-string-id", "exec-answer-as-string-id"],
  },
  {
    differs: ["exec_command_end", "ending"],
    scenarios: [
      "escalate-action-accept",
      "escalate-action-accept-content",
      "exec-action-accept",
      "exec-action-accept-content",
      "exec-decision-accept",
    ],
  },
  { differs: ["events", "patch_apply_end", "ending"], scenarios: ["patch-action-accept", "patch-ro-action-accept"] },
  { differs: ["questions", "events", "patch_apply_end", "ending"], scenarios: ["patch-ro-no-capability"] },
  {
    differs: ["item_completed", "agent_message", "agent_message_delta", "raw_response_item", "token_count", "task_complete"],
    scenarios: ["two-on-one-thread"],
  },
  { differs: ["exec_command_output_delta"], scenarios: ["patch-ro-approved", "patch-ro-session", "patch-ro-tool-approved"] },
  { differs: ["exec_command_output_delta", "exec_command_end"], scenarios: ["exec-on-request-read-only", "shell-never-read-only"] },
];

/** Differences that come from the newer Codex, or from what it reports. */
export const OF_CODEX: readonly CodexDifference[] = [
  {
    why: "The requests to the model are those of the newer Codex",
    differs: ["requests"],
    scenarios: [
      "args-all",
      "args-empty-prompt",
      "exec-answer-list",
      "exec-session-in-object",
      "reply-thread-id",
      "turn-agents-md",
      "turn-known-model",
    ],
  },
  {
    why: "Instructions of the caller or the project share a message with Codex's own, so one `raw_response_item` less",
    differs: ["events"],
    scenarios: ["args-all", "turn-agents-md"],
  },
  { why: "Settings that Codex does not know are named in a `warning`", differs: ["events"], scenarios: ["args-bad-config"] },
  {
    why: "The `warning` is about another setting than recorded, before or after `task_started`",
    differs: ["warning", "events"],
    scenarios: ["patch-tool-approved"],
    varies: true,
  },
  {
    why: "The approval policy `on-failure` becomes `on-request`, with a `warning`; `session_configured` shows the one in force",
    differs: ["events", "session_configured"],
    scenarios: ["args-policies"],
  },
  {
    why: "`on-failure` becomes `on-request`, so no question follows a command that the sandbox stopped",
    differs: ["questions", "events", "session_configured", "exec_command_output_delta", "exec_command_end", "ending"],
    scenarios: ["exec-on-failure"],
  },
  {
    why: "The client cannot be asked: the command is denied, because Codex may repeat an approved one outside its sandbox",
    differs: ["questions", "exec_command_end", "ending"],
    scenarios: ["exec-no-capability"],
  },
  {
    why: "The model gets the reason of a denial as a message of the user",
    differs: ["events"],
    scenarios: ["exec-no-capability"],
  },
  {
    why: "The client cannot be asked: the patch is denied",
    differs: ["questions", "events", "patch_apply_end", "ending"],
    scenarios: ["patch-no-capability"],
  },
  {
    why: "The reason of a denial is sent to the turn, because Codex has no field for it",
    differs: ["events"],
    scenarios: ["exec-no-capability"],
  },
  {
    why: "A command that is interrupted, while it runs or needs approval, has an `exec_command_end`",
    differs: ["events"],
    scenarios: ["cancel-during-approval", "cancel-mid-shell", "escalate-cancel"],
  },
  {
    why: "`parsed_cmd` holds the command line in one piece",
    differs: ["exec_command_begin"],
    scenarios: ["cancel-mid-shell", "eof-during-shell", "sigterm-during-shell"],
  },
  { why: "The command was interrupted, not waited for", differs: ["exec_command_end"], scenarios: ["eof-during-shell"] },
  {
    why: "A message open at an interrupt is completed with the text so far",
    differs: ["events"],
    scenarios: ["cancel-mid-stream"],
  },
  {
    why: "The message is completed with the text so far, because the turn is interrupted",
    differs: ["item_completed", "agent_message"],
    scenarios: ["eof-during-stream"],
  },
  {
    why: "An interrupted patch says `patch interrupted`, and ends after the model's item",
    differs: ["events", "patch_apply_end"],
    scenarios: ["patch-ro-abort"],
  },
  {
    why: "A missing folder is reported in Codex's words, as output of the command",
    differs: ["events", "exec_command_end"],
    scenarios: ["args-cwd-missing-dir"],
  },
  {
    why: "Errors of the model's server in the words of the newer Codex",
    differs: ["answers", "error"],
    scenarios: ["model-401", "model-404", "model-503", "model-incomplete", "model-usage-limit"],
  },
  { why: "A full context is counted as such", differs: ["token_count"], scenarios: ["model-failed-context"] },
  {
    why: "Codex waits for a network and reports it; the call ends with the client, or after two minutes",
    differs: ["answers", "events"],
    scenarios: ["model-unreachable"],
  },
  {
    why: "Codex makes a second attempt to start a server that cannot be started",
    differs: ["mcp_startup_update"],
    scenarios: ["mcp-server-fails"],
  },
  { why: "The scripted model calls the server's tool by its name in 0.92.0", differs: ["events"], scenarios: ["mcp-tool-call"] },
  { why: "The newer Codex does not accept the scenario's image", differs: ["events"], scenarios: ["turn-view-image"] },
  {
    why: "The order of the two streams is random",
    differs: ["exec_command_output_delta", "exec_command_end"],
    scenarios: ["shell-exit-code"],
    varies: true,
  },
  {
    why: "`formatted_output` is not cut; the place where the two streams meet is random",
    differs: ["exec_command_output_delta", "exec_command_end"],
    scenarios: ["shell-big-output"],
  },
];

/** Answers, questions, notifications and endings that also differ from those of the engine native. */
export const OUTCOMES_OF_CODEX: Readonly<Record<string, OwnSide>> = {
  "exec-on-failure": { questions: { "": [] }, ending: { "": [files({}), ...CLEAN_EXIT] } },
  "exec-no-capability": { questions: { "": [] }, ending: { "": [files({}), ...CLEAN_EXIT] } },
  "patch-no-capability": { questions: { "": [] }, ending: { "": [files({}), ...CLEAN_EXIT] } },
  "model-401": failed("unexpected status 401 Unauthorized: scripted status 401, url: <MODEL_URL>/responses"),
  "model-404": failed("unexpected status 404 Not Found: scripted status 404, url: <MODEL_URL>/responses"),
  "model-503": failed("unexpected status 503 Service Unavailable: scripted status 503, url: <MODEL_URL>/responses"),
  "model-incomplete": failed("Incomplete response returned, reason: max_output_tokens"),
  "model-usage-limit": failed(
    "You've hit your usage limit. Upgrade to Pro (https://chatgpt.com/explore/pro), visit https://chatgpt.com/settings/usage to purchase more credits or try again at Jan 1st, 2100 12:00 AM.",
  ),
  "model-unreachable": { answers: { 2: interrupted() } },
};

function failed(content: string): OwnSide {
  const answer = { content: [{ text: content, type: "text" }], structuredContent: { threadId: "<id 1 of 2>", content }, isError: true };
  return { answers: { 2: [answer] } };
}
