import { useEffect, useRef } from "react";
import { plural } from "../lib/formats.js";
import { ALL_THREADS, useApprovals, useThreads } from "../state/queries.js";
import { settledApprovals } from "../state/serverWatch.js";
import { useSignal } from "../state/signal.js";
import { ApprovalCard } from "./approvalCard.js";
import { Beginning } from "./beginning.js";
import { SettledLine } from "./settled.js";
import { ThreadRow } from "./threadList.js";
import { Trouble } from "./trouble.js";

/** For this long after cards moved, a click is ignored, because it was probably meant for another card. */
const MOVED_MS = 350;

/** All open questions, oldest first; new ones are added at the end, so that nothing moves under the pointer. */
export function Inbox() {
  const { data, error, isPending, refetch } = useApprovals();
  const approvals = data?.approvals ?? [];
  const list = useRef<HTMLDivElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const isSteady = useSteadiness(approvals.map(({ id }) => id));
  useFocusKept(list, heading);
  return (
    <section className="page inbox" aria-labelledby="inbox-heading">
      <h2 id="inbox-heading" ref={heading} tabIndex={-1}>
        {isPending
          ? "Inbox"
          : approvals.length === 0
            ? "Nothing waits"
            : `${plural(approvals.length, "question")} ${approvals.length === 1 ? "waits" : "wait"}`}
      </h2>
      <p className="visually-hidden" role="status">
        {plural(approvals.length, "open question")}
      </p>
      <Trouble error={error} onRetry={() => void refetch()} />
      {approvals.length === 0 && !isPending && !error && (
        <p className="quiet">When the agent needs approval for a command or a change, or asks something, the question appears here.</p>
      )}
      {isPending && <p className="quiet">Reading…</p>}
      <div ref={list} className="cards">
        {approvals.map((approval) => (
          <ApprovalCard key={approval.id} approval={approval} isSteady={isSteady} />
        ))}
      </div>
      <Running />
      <Settled />
      <Beginning />
    </section>
  );
}

/** Whether no card has moved for a moment. A card that is added at the end moves no other. */
function useSteadiness(ids: readonly string[]): () => boolean {
  const before = useRef(ids);
  const movedAt = useRef(0);
  useEffect(() => {
    const isAdded = before.current.every((id, index) => ids[index] === id);
    if (!isAdded) movedAt.current = performance.now();
    before.current = ids;
  }, [ids]);
  return () => performance.now() - movedAt.current > MOVED_MS;
}

/** When the focused card is answered and removed, the focus moves to the next card. */
function useFocusKept(list: React.RefObject<HTMLDivElement | null>, heading: React.RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const cards = list.current;
    if (!cards) return;
    let place = -1;
    const noteFocus = (event: FocusEvent) => {
      const card = event.target instanceof Element ? event.target.closest("article") : null;
      place = card ? [...cards.children].indexOf(card) : -1;
    };
    const forget = (event: FocusEvent) => {
      // If the focus moves elsewhere, the event has a target; if the element is removed, it has none.
      if (event.relatedTarget) place = -1;
    };
    const changes = new MutationObserver(() => {
      if (place < 0 || cards.contains(document.activeElement)) return;
      const next = cards.children[Math.min(place, cards.children.length - 1)];
      if (next instanceof HTMLElement) next.focus();
      else heading.current?.focus();
    });
    cards.addEventListener("focusin", noteFocus);
    cards.addEventListener("focusout", forget);
    changes.observe(cards, { childList: true });
    return () => {
      cards.removeEventListener("focusin", noteFocus);
      cards.removeEventListener("focusout", forget);
      changes.disconnect();
    };
  }, [list, heading]);
}

/** Running turns without an open question. */
function Running() {
  const { data } = useThreads(ALL_THREADS);
  const running = data?.pages.flatMap(({ threads }) => threads).filter(({ state }) => state === "running") ?? [];
  if (running.length === 0) return null;
  return (
    <section aria-labelledby="running-heading">
      <h3 id="running-heading">Running</h3>
      <ul className="running">
        {running.map((thread) => (
          <ThreadRow key={thread.id} thread={thread} isShown={false} isFolderNamed />
        ))}
      </ul>
    </section>
  );
}

function Settled() {
  const settled = useSignal(settledApprovals);
  if (settled.length === 0) return null;
  return (
    <section aria-labelledby="settled-heading">
      <h3 id="settled-heading">Settled since this page was opened</h3>
      <ul className="settled">
        {settled.map((each) => (
          <SettledLine key={each.approval.id} {...each} />
        ))}
      </ul>
    </section>
  );
}
