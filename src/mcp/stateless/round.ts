import { TurnView } from "../wording/turnView.js";
import { EVENTS_EXTENSION, takesForms } from "./claim.js";
import type { FollowedTurn } from "./followedTurn.js";
import type { StatelessRequest } from "./request.js";

/** Questions that are asked at about the same time go out together. */
const GATHER_MS = 20;

/** How a request's part in a turn ends: with the turn, with questions to its client, or because it was cancelled. */
export type RoundEnd = "ended" | "questions" | "cancelled";

/** Shows a turn to one request until it ends or has questions. What becomes of the turn is not decided here. */
export async function playRound(followed: FollowedTurn, request: StatelessRequest): Promise<RoundEnd> {
  followed.isFollowedBy({ takesForms: takesForms(request.claim) });
  const view = viewFor(followed, request);
  try {
    for (;;) {
      await showUntilSomethingIsDue(followed, request, view);
      const end = await endOf(followed, request);
      if (end) return end;
    }
  } finally {
    view.close();
  }
}

async function showUntilSomethingIsDue(followed: FollowedTurn, { signal, peer }: StatelessRequest, view: TurnView): Promise<void> {
  const due = new AbortController();
  const stop = () => due.abort();
  let gathering: NodeJS.Timeout | undefined;
  const gather = () => {
    if (followed.state.at === "asking") gathering ??= setTimeout(stop, GATHER_MS);
  };
  const unwatch = followed.watch(gather);
  signal.addEventListener("abort", stop, { once: true });
  if (signal.aborted) stop();
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
  }
}

/** Undefined when the round goes on: the question was decided elsewhere meanwhile, or the turn ended with more to show. */
async function endOf(followed: FollowedTurn, { signal }: StatelessRequest): Promise<RoundEnd | undefined> {
  const { turn } = followed;
  if (turn.ended && (signal.aborted || followed.shown >= turn.log.size)) {
    await followed.ended;
    return "ended";
  }
  if (signal.aborted) return "cancelled";
  return followed.state.at === "asking" ? "questions" : undefined;
}

function viewFor({ turn }: FollowedTurn, { id, signal, claim, peer }: StatelessRequest): TurnView {
  const { progressToken, logLevel, extensions } = claim;
  return new TurnView(
    turn,
    { requestId: id, signal, progressToken, logLevel: () => logLevel, peer },
    { events: EVENTS_EXTENSION in extensions },
  );
}
