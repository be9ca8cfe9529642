import { isRecord } from "../support/scenarios/scenario.js";
import { WORDING } from "../support/scenarios/stabilise.js";
import type { Entry, Transcript } from "../support/scenarios/transcript.js";
import { changeEvents, changeRawItems, eventOf, inTurn } from "./scenarioEvents.js";

/**
 * A difference between the newest tried Codex and 0.92.0 that occurs everywhere. Both transcripts are converted to one form before the comparison.
 */
export interface Habit {
  readonly about: string;
  readonly difference: string;
  ofRecorded(transcript: Transcript): Transcript;
  ofPlayed(transcript: Transcript): Transcript;
}

type Change = (transcript: Transcript) => Transcript;

const asItIs: Change = (transcript) => transcript;

function inRecorded(ofRecorded: Change): Pick<Habit, "ofRecorded" | "ofPlayed"> {
  return { ofRecorded, ofPlayed: asItIs };
}

function inBoth(change: Change): Pick<Habit, "ofRecorded" | "ofPlayed"> {
  return { ofRecorded: change, ofPlayed: change };
}

export const HABITS: readonly Habit[] = [
  {
    about: "first `raw_response_item`s of a thread",
    difference: "Codex's context comes after `task_started` and belongs to the turn; its words are those of the newer Codex",
    ofRecorded: (transcript) => withoutContextWords(withContextInTurn(transcript)),
    ofPlayed: withoutContextWords,
  },
  {
    about: "other `raw_response_item`s",
    difference: "the model is offered `exec_command` and `apply_patch` as functions, so its calls and their outputs read differently",
    ...inBoth(withoutToolWords),
  },
  {
    about: "a patch through the shell",
    difference: "the model is no longer told to use the tool, so one `raw_response_item` less",
    ...inRecorded((transcript) => withoutRawItems(transcript, "apply_patch was requested via")),
  },
  {
    about: "an interrupted turn",
    difference: "one more `raw_response_item`, which tells the model about the interruption",
    ...inBoth((transcript) => withoutRawItems(transcript, "<turn_aborted>")),
  },
  {
    about: "a model Codex does not know",
    difference: "a `warning`; `model_context_window` is a guess, and null in the first `task_started`",
    ofRecorded: withoutContextWindow,
    ofPlayed: (transcript) => withoutContextWindow(withoutModelWarning(transcript)),
  },
  {
    about: "`token_count`",
    difference: "no early one with `info: null`, none that repeats the one before it; comes after a command, not before it",
    ...inRecorded(withoutRepeatedCounts),
  },
  {
    about: "argv of commands",
    difference: "`/bin/bash` in place of `bash`, in questions, too",
    ...inBoth(withPlainBash),
  },
  {
    about: "`exec_command_output_delta`, `exec_command_end`",
    difference: "both streams as `stdout`",
    ...inRecorded(withOneStream),
  },
  {
    about: "`turn_diff`",
    difference: "paths relative to the workspace",
    ...inRecorded(withRelativePaths),
  },
];

/** Events of the context have this name in place of a turn's id. */
const BEFORE_ANY_TURN = "auto-compact-0";

function withContextInTurn(transcript: Transcript): Transcript {
  const context = new Map<unknown, Entry[]>();
  return transcript.flatMap((entry) => {
    const event = eventOf(entry);
    if (event?.turn === BEFORE_ANY_TURN && event.msg["type"] === "raw_response_item") {
      context.set(event.call, [...(context.get(event.call) ?? []), entry]);
      return [];
    }
    if (event?.msg["type"] !== "task_started") return [entry];
    const own = context.get(event.call) ?? [];
    context.delete(event.call);
    return [entry, ...own.map((early) => inTurn(early, event.turn))];
  });
}

function withoutContextWords(transcript: Transcript): Transcript {
  return changeRawItems(transcript, (item) => {
    const isContext = item["role"] === "developer" || JSON.stringify(item["content"])?.includes("<environment_context>");
    return isContext ? { ...item, content: WORDING } : item;
  });
}

function withoutToolWords(transcript: Transcript): Transcript {
  return changeRawItems(transcript, (item) => {
    const type = String(item["type"]).replace("custom_tool_call", "function_call");
    return type.startsWith("function_call") ? { type, call_id: item["call_id"] } : item;
  });
}

function withoutRawItems(transcript: Transcript, words: string): Transcript {
  return changeRawItems(transcript, (item) => (JSON.stringify(item).includes(words) ? undefined : item));
}

function withoutModelWarning(transcript: Transcript): Transcript {
  return changeEvents(transcript, ({ msg }) => {
    const warns = msg["type"] === "warning" && String(msg["message"]).startsWith("Model metadata for ");
    return warns ? undefined : msg;
  });
}

function withoutContextWindow(transcript: Transcript): Transcript {
  return changeEvents(transcript, ({ msg }) => {
    if (msg["type"] === "task_started") return { ...msg, model_context_window: null };
    if (msg["type"] !== "token_count" || !isRecord(msg["info"])) return msg;
    return { ...msg, info: { ...msg["info"], model_context_window: null } };
  });
}

function withoutRepeatedCounts(transcript: Transcript): Transcript {
  const last = new Map<unknown, string>();
  return changeEvents(transcript, ({ msg, threadId }) => {
    if (msg["type"] !== "token_count") return msg;
    const count = JSON.stringify(msg["info"]);
    if (msg["info"] === null || count === last.get(threadId)) return undefined;
    last.set(threadId, count);
    return msg;
  });
}

function withPlainBash(transcript: Transcript): Transcript {
  const text = JSON.stringify(transcript).replaceAll('["/bin/bash",', '["bash",').replaceAll("`/bin/bash -lc", "`bash -lc");
  return JSON.parse(text) as Transcript;
}

function withOneStream(transcript: Transcript): Transcript {
  return changeEvents(transcript, ({ msg }) => {
    if (msg["type"] === "exec_command_output_delta") return { ...msg, stream: "stdout" };
    const ran = msg["type"] === "exec_command_end" && msg["exit_code"] !== -1;
    return ran ? { ...msg, stdout: msg["aggregated_output"], stderr: "" } : msg;
  });
}

function withRelativePaths(transcript: Transcript): Transcript {
  return changeEvents(transcript, ({ msg }) =>
    msg["type"] === "turn_diff" ? { ...msg, unified_diff: String(msg["unified_diff"]).replaceAll("<WS>/", "") } : msg,
  );
}
