import { LONGEST_TIMER_MS } from "../../lib/promises.js";
import { TurnView } from "../wording/turnView.js";
import type { FollowedTurn } from "./followedTurn.js";
import { canBeAsked, EVENTS_EXTENSION, type StatelessRequest } from "./request.js";

/** Questions asked within this time are sent together. */
const GATHER_MS = 20;

/**
 * Why a request stops following its turn: the turn ended, it has questions for the client, the request was cancelled, or its waiting time
 * is over or someone else has to answer.
 */
export type RoundEnd = "ended" | "questions" | "cancelled" | "late";

/** Shows a turn to one request until the turn ends, has questions, or the time is up. Does not decide what happens to the turn. */
export async function playRound(
  followed: FollowedTurn,
  request: StatelessRequest,
  { withinMs = Number.POSITIVE_INFINITY }: { readonly withinMs?: number | undefined } = {},
): Promise<RoundEnd> {
  followed.isFollowedBy({ canAnswer: canBeAsked(request) });
  const view = viewFor(followed, request);
  const late = new AbortController();
  const patience = withinMs === Number.POSITIVE_INFINITY ? undefined : setTimeout(() => late.abort(), Math.min(withinMs, LONGEST_TIMER_MS));
  try {
    for (;;) {
      await showUntilSomethingIsDue(followed, { signal: request.signal, peer: request.peer, late: late.signal }, view);
      const end = (await endOf(followed, request)) ?? (late.signal.aborted || hasUnreported(followed) ? "late" : undefined);
      if (end) return end;
    }
  } finally {
    clearTimeout(patience);
    view.close();
  }
}

/** Whether someone else has to answer a question that this call's client has not been informed of. */
function hasUnreported({ stay, held }: FollowedTurn): boolean {
  return stay !== undefined && stay.visit.unreported(held.map(({ id }) => id)).length > 0;
}

async function showUntilSomethingIsDue(
  followed: FollowedTurn,
  { signal, late, peer }: Pick<StatelessRequest, "signal" | "peer"> & { readonly late: AbortSignal },
  view: TurnView,
): Promise<void> {
  const due = new AbortController();
  const stop = () => due.abort();
  let gathering: NodeJS.Timeout | undefined;
  const gather = () => {
    if (followed.state.at === "asking" || hasUnreported(followed)) gathering ??= setTimeout(stop, GATHER_MS);
  };
  const unwatch = followed.watch(gather);
  signal.addEventListener("abort", stop, { once: true });
  late.addEventListener("abort", stop, { once: true });
  if (signal.aborted || late.aborted) stop();
  gather();
  try {
    for await (const batch of followed.turn.log.read({ after: followed.shown, signal: due.signal })) {
      for (const { seq, value } of batch) {
        view.show(value);
        followed.shown = Math.max(followed.shown, seq);
        const congestion = peer.congested();
        if (congestion) await congestion;
      }
    }
  } finally {
    clearTimeout(gathering);
    unwatch();
    signal.removeEventListener("abort", stop);
    late.removeEventListener("abort", stop);
  }
}

/** Undefined if the round continues: the question was decided elsewhere meanwhile, or the turn ended with more to show. */
async function endOf(followed: FollowedTurn, { signal }: StatelessRequest): Promise<RoundEnd | undefined> {
  const { turn } = followed;
  if (turn.ended && (signal.aborted || followed.shown >= turn.log.size)) {
    await followed.ended;
    return "ended";
  }
  if (signal.aborted) return "cancelled";
  return followed.state.at === "asking" ? "questions" : undefined;
}

function viewFor({ turn, presentation, startText }: FollowedTurn, { id, signal, claim, peer }: StatelessRequest): TurnView {
  const { progressToken, logLevel, extensions } = claim;
  // In this era a client gets log messages only if its request asks for them.
  const logMessages = presentation.logMessages === "from-start" ? "on-request" : presentation.logMessages;
  return new TurnView(
    turn,
    { requestId: id, signal, progressToken, logLevel: () => logLevel, peer },
    { ...presentation, logMessages, startText, events: EVENTS_EXTENSION in extensions ? presentation.events : "none" },
  );
}
