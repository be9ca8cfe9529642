import { type ClientProfile, clientProfile } from "../../src/mcp/clientProfiles.js";
import { ANSWERS, showsThread, WORK } from "./conversations.js";
import type { Evidence, Trial } from "./trial.js";
import { decisions, identityOf, listedTools } from "./wire.js";

/** The result of a check. `note` explains it; if `ok` is false, it names the failure. */
export interface Verdict {
  readonly ok: boolean;
  readonly note: string;
}

/** All checks of a client that the page shows, in their order. */
export const CHECKS = {
  tools: "tools that its model is offered",
  shows: "what its model sees of a result",
  reply: "a reply on the thread that the model was shown",
  error: "the model sees the cause of a failed turn and its thread, and goes on there",
  files: "the model sees which files changed",
  answer: "characters that its model sees of an answer of 199 kB",
  question: "an approval with the default settings",
  held: "an approval with `--approval-fallback hold`",
  later: "a reply from a new run of the client",
  stop: "Ctrl-C, or an abort signal, ends the turn's command",
  long: "a turn of 75 s, or of the given length, which exceeds a limit of 60 s",
  left: "nothing of ours is left running",
} as const;

export type CheckName = keyof typeof CHECKS;
export type Verdicts = Readonly<Record<CheckName, Verdict>>;

/** The note of a check that this run left out. */
export const NOT_TRIED = "not tried";
const YES: Verdict = { ok: true, note: "yes" };
const LONG_ANSWER = 198_000;

export function verdictsOf(trial: Trial): Verdicts {
  return {
    tools: toolsVerdict(trial.work),
    shows: showsVerdict(trial.work),
    reply: replyVerdict(trial.work),
    error: errorVerdict(trial.work),
    files: whether(trial.work.made && step(trial.work, "patch").includes("made.txt"), shortened(step(trial.work, "patch"))),
    answer: answerVerdict(trial.work),
    question: questionVerdict(trial.work),
    held: heldVerdict(trial.held),
    later: whether(says(trial.again.results[0], ANSWERS.later), failureOf(trial.again)),
    stop: stopVerdict(trial.stop),
    long: trial.long ? longVerdict(trial.long) : { ok: true, note: NOT_TRIED },
    left: leftVerdict(trial),
  };
}

function step({ results }: Evidence, name: (typeof WORK)[number]): string {
  return results[WORK.indexOf(name)] ?? "";
}

/** The answer is present, and not only inside the prompt that asked for it. */
function says(result: string | undefined, answer: string): boolean {
  return result?.replaceAll(`!say ${answer}`, "").includes(answer) === true;
}

function whether(ok: boolean, otherwise: string): Verdict {
  return ok ? YES : { ok: false, note: otherwise };
}

/** A hint at why a run shows less than expected: the end of the client's output, or the model's last input. */
function failureOf({ results, end }: Evidence): string {
  if (end.overdue) return "the client did not end in time";
  return shortened(results.at(-1) ?? `the client ended with ${end.code ?? "a signal"}: ${end.output.trim().split("\n").at(-1) ?? ""}`);
}

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line === "" ? "nothing" : line.length > 160 ? `${line.slice(0, 160)}…` : line;
}

function toolsVerdict(evidence: Evidence): Verdict {
  const [listed, offered] = [listedTools(evidence.wire).length, evidence.offered.length];
  if (listed === 0 || step(evidence, "first") === "") return { ok: false, note: failureOf(evidence) };
  return { ok: true, note: offered < listed ? `${offered} of ${listed}, the others by its search` : String(offered) };
}

/** How a client showed the first result, in the words of the clients' table. */
export function shownParts(result: string): ClientProfile["shows"] {
  const plain = result.replaceAll("\\", "");
  if (/"structuredContent"|"codex-mcpd\/turn"/.test(plain)) return "everything";
  if (!/"status": ?"completed"/.test(plain)) return "text";
  return plain.split(ANSWERS.first).length > 2 ? "both" : "structured";
}

function showsVerdict(evidence: Evidence): Verdict {
  const first = step(evidence, "first");
  if (!says(first, ANSWERS.first)) return { ok: false, note: failureOf(evidence) };
  const shown = shownParts(first);
  const known = clientProfile(identityOf(evidence.wire)).shows;
  const agrees = known === shown || known === "unknown";
  return agrees ? { ok: true, note: shown } : { ok: false, note: `${shown}, and the server takes it for ${known}` };
}

function replyVerdict(evidence: Evidence): Verdict {
  if (!showsThread(step(evidence, "first"))) return { ok: false, note: "no thread id is shown" };
  return whether(says(step(evidence, "reply"), ANSWERS.reply), shortened(step(evidence, "reply")));
}

function errorVerdict(evidence: Evidence): Verdict {
  const failure = step(evidence, "failure");
  if (!says(failure, ANSWERS.cause)) return { ok: false, note: `the cause is not shown: ${shortened(failure)}` };
  if (!showsThread(failure)) return { ok: false, note: "no thread id is shown" };
  return whether(says(step(evidence, "mended"), ANSWERS.mended), shortened(step(evidence, "mended")));
}

function answerVerdict(evidence: Evidence): Verdict {
  const answer = step(evidence, "long");
  if (answer === "") return { ok: false, note: failureOf(evidence) };
  return {
    ok: answer.length < LONG_ANSWER,
    note: `${answer.length.toLocaleString("en")}${showsThread(answer) ? "" : ", without thread id"}`,
  };
}

function questionVerdict(evidence: Trial["work"]): Verdict {
  if (!says(step(evidence, "question"), ANSWERS.wentOn)) return { ok: false, note: shortened(step(evidence, "question")) };
  const decided = decisions(evidence.wire).at(-1);
  if (!decided) return { ok: false, note: "the result says nothing of the question" };
  if ((decided.decision === "approved") !== evidence.touched)
    return { ok: false, note: `${decided.decision}, but the command ${evidence.touched ? "ran" : "did not run"}` };
  return { ok: true, note: QUESTION_NOTES[`${decided.by} ${decided.decision}`] ?? `${decided.decision} (${decided.by})` };
}

const QUESTION_NOTES: Readonly<Record<string, string>> = {
  "elicitation approved": "asked, allowed",
  "elicitation denied": "asked, declined",
  "client denied": "declines by itself: denied, the turn goes on",
  "fallback denied": "cannot be asked: denied, the turn goes on",
};

function heldVerdict(evidence: Trial["held"]): Verdict {
  const last = evidence.results.at(-1) ?? "";
  if (!says(last, ANSWERS.decided) || !evidence.touched) return { ok: false, note: failureOf(evidence) };
  return { ok: true, note: evidence.results.length === 1 ? "asked, allowed" : "`codex-answer`, then `codex-wait`" };
}

function stopVerdict(evidence: Trial["stop"]): Verdict {
  if (!evidence.began) return { ok: false, note: `the command never ran: ${failureOf(evidence)}` };
  if (evidence.left.some((line) => line.includes("sleep"))) return { ok: false, note: "the command runs on" };
  const cancels = evidence.wire.some(({ direction, message }) => direction === "in" && message["method"] === "notifications/cancelled");
  return { ok: true, note: cancels ? "it cancels" : "it closes" };
}

/** The default length of the long turn. */
export const LONG_SECONDS = 75;

function longVerdict(evidence: NonNullable<Trial["long"]>): Verdict {
  const { results, seconds } = evidence;
  if (!says(results.at(-1), ANSWERS.slept)) return { ok: false, note: failureOf(evidence) };
  const taken = seconds === LONG_SECONDS ? "" : ` (${seconds} s)`;
  if (results.length === 1) return { ok: true, note: `one call${taken}` };
  const gaveUp = results.slice(0, -1).some((result) => !showsThread(result));
  return { ok: true, note: `${gaveUp ? "times out; the same prompt joins the turn" : "`running`, then `codex-wait`"}${taken}` };
}

function leftVerdict(trial: Trial): Verdict {
  const left = [trial.work, trial.again, trial.held, trial.stop, trial.long].flatMap((evidence) => evidence?.left ?? []);
  return whether(left.length === 0, left.map(shortened).join("; "));
}
