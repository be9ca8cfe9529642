import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import type { ThreadResource } from "../../../src/api/schemas/threads.js";
import { ApiFailure } from "../api/requests.js";
import { count, duration, stepFrom } from "../lib/formats.js";
import { visibleLine } from "../lib/visibleText.js";
import { usePageTitle } from "../state/attention.js";
import { useApprovals, useMayCall, useThread } from "../state/queries.js";
import { connection, noteThread } from "../state/serverWatch.js";
import { useSignal } from "../state/signal.js";
import { ThreadStory } from "../state/threadStory.js";
import { AskedItems } from "./acts.js";
import { ApprovalCard } from "./approvalCard.js";
import { Composer } from "./composer.js";
import { Plan } from "./items.js";
import { SettledElsewhere } from "./settled.js";
import { ThreadActions } from "./threadActions.js";
import { Timeline } from "./timeline.js";
import { Trouble } from "./trouble.js";
import { monotonic, useNow } from "./useNow.js";

export function titleOfThread({ name, preview, id }: Pick<ThreadResource, "name" | "preview" | "id">): string {
  return visibleLine(name ?? preview) || `Thread ${id.slice(0, 8)}`;
}

const LONGEST_TITLE = 80;

/** A thread: its state, timeline and open questions, and the box for replies. */
export function ThreadPage({ threadId }: { readonly threadId: string }) {
  const story = useStory(threadId);
  const { data: thread, error, refetch } = useThread(threadId);
  const { data } = useApprovals();
  const asked = data?.approvals.filter((approval) => approval.threadId === threadId) ?? [];
  const mayCall = useMayCall();
  const ids = asked.flatMap(({ itemId }) => itemId ?? []).join(" ");
  const askedItems = useMemo(() => new Set(ids.split(" ")), [ids]);
  usePageTitle(thread ? titleOfThread(thread).slice(0, LONGEST_TITLE) : "Thread");
  if (error instanceof ApiFailure && NOT_THERE.has(error.status)) return <Gone />;
  return (
    <section className="page thread" aria-labelledby="thread-heading">
      <header className="thread-head">
        <h2 id="thread-heading" tabIndex={-1} title={thread && titleOfThread(thread)}>
          {thread ? titleOfThread(thread) : "Thread"}
        </h2>
        {thread && mayCall && <ThreadActions thread={thread} />}
        {thread && <Facts thread={thread} story={story} />}
        <Connection story={story} />
      </header>
      <Trouble error={error} onRetry={() => void refetch()} />
      {thread && <CurrentPlan thread={thread} story={story} />}
      <AskedItems value={askedItems}>
        <Timeline story={story} threadId={threadId} folder={thread?.cwd ?? null} />
      </AskedItems>
      {asked.length > 0 && (
        <div className="asked">
          {asked.map((approval) => (
            <ApprovalCard key={approval.id} approval={approval} isInThread />
          ))}
        </div>
      )}
      <SettledElsewhere threadId={threadId} />
      {thread?.archived === false && mayCall && <Composer threadId={threadId} isRunning={thread.state !== "idle"} />}
      {thread?.archived && <p className="quiet archived-note">This thread is archived. Unarchive it to continue.</p>}
      {!mayCall && <p className="quiet archived-note">Your login may only watch.</p>}
    </section>
  );
}

/** For a thread that was removed, never existed, or belongs to another user: the server's response is the same. */
const NOT_THERE: ReadonlySet<number> = new Set([400, 404]);

function Gone() {
  return (
    <section className="page" aria-labelledby="thread-heading">
      <h2 id="thread-heading" tabIndex={-1}>
        This thread is gone
      </h2>
      <p>It was removed, it never existed, or your login may not see it.</p>
      <p>
        <a href="#/inbox">Inbox</a>
      </p>
    </section>
  );
}

/** Followed only while the page is visible: browsers allow few connections to one server, and hidden tabs would use them up. */
function useStory(threadId: string): ThreadStory {
  const queries = useQueryClient();
  const story = useMemo(() => new ThreadStory(threadId, (event) => noteThread(queries, threadId, event)), [threadId, queries]);
  const isHidden = useHidden();
  useEffect(() => {
    if (isHidden) return;
    story.start();
    return () => story.stop();
  }, [story, isHidden]);
  return story;
}

function useHidden(): boolean {
  const [isHidden, setHidden] = useState(document.hidden);
  useEffect(() => {
    const note = () => setHidden(document.hidden);
    document.addEventListener("visibilitychange", note);
    return () => document.removeEventListener("visibilitychange", note);
  }, []);
  return isHidden;
}

function Connection({ story }: { readonly story: ThreadStory }) {
  const isLost = useSignal(story.connection) === "lost";
  // The page shows a note of its own about that.
  const isServerLost = useSignal(connection) === "lost";
  return isLost && !isServerLost ? (
    <p className="warn" role="status">
      The connection is lost. Events that you miss are shown when it is back.
    </p>
  ) : null;
}

function Facts({ thread, story }: { readonly thread: ThreadResource; readonly story: ThreadStory }) {
  const { state, activity, cwd, model, effort, sandbox, approvalPolicy, usage, contextTokens, contextWindow } = thread;
  const now = useNow(1_000, state !== "idle", monotonic);
  // The response says how long the turn had run by then.
  const begun = useMemo(() => (activity ? monotonic() - activity.ms : 0), [activity]);
  const turnUsage = useSignal(story.usage);
  return (
    <p className="facts">
      <span className={`state state-${state}`}>{state}</span>
      {activity && (
        <span className="step">
          {state === "running" && `${visibleLine(stepFrom(cwd, activity.step.text))} · `}
          {duration(now - begun)}
          {activity.queued > 0 && ` · ${activity.queued} queued`}
        </span>
      )}
      <span className="path" title={cwd}>
        {visibleLine(cwd)}
      </span>
      <span className="quiet">{[model, effort, sandbox, approvalPolicy && `asks: ${approvalPolicy}`].filter(Boolean).join(" · ")}</span>
      {usage && (
        <span className="quiet" title="Tokens of the whole thread">
          {count(usage.total)} tokens
          {turnUsage && `, ${count(turnUsage.turn.total)} in this turn`}
        </span>
      )}
      {contextWindow !== null && contextTokens !== null && (
        <span className="quiet" title={`${contextTokens} of ${contextWindow} tokens`}>
          context {Math.round((contextTokens / contextWindow) * 100)} %
        </span>
      )}
    </p>
  );
}

function CurrentPlan({ thread, story }: { readonly thread: ThreadResource; readonly story: ThreadStory }) {
  const plan = useSignal(story.plan) ?? thread.plan;
  if (!plan || thread.state === "idle") return null;
  const done = plan.steps.filter(({ status }) => status === "completed").length;
  const current = plan.steps.find(({ status }) => status === "in_progress")?.step;
  return (
    <details className="current-plan">
      <summary>
        Plan: {done} of {plan.steps.length} done{current ? ` · ${visibleLine(current)}` : ""}
      </summary>
      <Plan plan={plan} />
    </details>
  );
}
