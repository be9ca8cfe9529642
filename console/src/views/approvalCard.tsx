import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type KeyboardEvent, useId, useRef, useState } from "react";
import type { Settlement } from "../../../src/api/schemas/common.js";
import type { Approval } from "../../../src/api/schemas/threads.js";
import { ApiFailure, request, serverNow } from "../api/requests.js";
import { clock, plural, remaining } from "../lib/formats.js";
import { visibleLine, visibleText } from "../lib/visibleText.js";
import { ALL_THREADS, APPROVALS, useMayCall, useThreads } from "../state/queries.js";
import { threadHref } from "../state/route.js";
import { settled } from "../state/serverWatch.js";
import { type Answer, Buttons, Denial, FormAnswer } from "./answers.js";
import { FileChange } from "./diff.js";
import { Trouble } from "./trouble.js";
import { useNow } from "./useNow.js";

interface ApprovalCardProps {
  readonly approval: Approval;
  /** False for a moment after the list moved, when a click was probably meant for another card. */
  readonly isSteady?: () => boolean;
  /** The thread's own page already shows the thread's name. */
  readonly isInThread?: boolean;
}

/** One question, with everything that is needed to answer it. Keys while the card has the focus: a approves, s approves for the session, d denies. */
export function ApprovalCard({ approval, isSteady = () => true, isInThread = false }: ApprovalCardProps) {
  const { id, kind, reason, decisions } = approval;
  const heading = useId();
  const card = useRef<HTMLElement>(null);
  const [isDenying, setDenying] = useState(false);
  const answer = useAnswer(id);
  const mayCall = useMayCall();
  // A denial is accepted even then: its reason was written for this card.
  const give = (body: Answer) => !answer.isPending && (body.decision === "deny" || isSteady()) && answer.mutate(body);
  const onKey = (event: KeyboardEvent) => {
    if (!mayCall || event.target !== card.current || event.ctrlKey || event.metaKey || event.altKey) return;
    // What was filled in counts, not the defaults.
    if (event.key === "a" && approval.form) card.current.querySelector("form")?.requestSubmit();
    else if (event.key === "a" && decisions.includes("approve")) give({ decision: "approve" });
    else if (event.key === "s" && decisions.includes("approve-for-session")) give({ decision: "approve-for-session" });
    else if (event.key === "d") setDenying(true);
    else return;
    event.preventDefault();
  };
  return (
    <article
      ref={card}
      className={`approval approval-${kind}`}
      aria-labelledby={heading}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: users move from card to card by keyboard
      tabIndex={0}
      onKeyDown={onKey}
      data-approval={id}
    >
      <header>
        <h3 id={heading}>{titleOf(approval)}</h3>
        <Signs approval={approval} />
        <Deadline at={approval.deadline} />
      </header>
      <Where approval={approval} isInThread={isInThread} />
      {reason !== null && <p className="reason">{visibleText(reason)}</p>}
      {approval.form ? <FormAnswer approval={approval} mayAnswer={mayCall} onAnswer={give} /> : <Subject approval={approval} />}
      {!mayCall && <p className="quiet">Your login may only watch: somebody else has to answer.</p>}
      {mayCall && !approval.form && (
        <Buttons
          approval={approval}
          isBusy={answer.isPending}
          isDenying={isDenying}
          onAnswer={give}
          onDeny={() => setDenying(!isDenying)}
        />
      )}
      {isDenying && (
        <Denial
          approval={approval}
          onDeny={(why) => give({ decision: "deny", ...(why && { reason: why }) })}
          onStop={() => give({ decision: "abort" })}
          onCancel={() => {
            setDenying(false);
            card.current?.focus();
          }}
        />
      )}
      <Trouble error={withoutAdvice(answer.error)} />
    </article>
  );
}

function useAnswer(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: Answer) =>
      request<{ settlement: Settlement }>(`approvals/${encodeURIComponent(id)}/answer`, { method: "POST", body }),
    onSuccess: ({ settlement }) => settled(queries, id, settlement, { isOwn: true }),
    onError(error) {
      // Another answer came first: the question leaves the list with that settlement.
      const before = error instanceof ApiFailure ? error.problem?.settlement : undefined;
      if (before) settled(queries, id, before);
      else if (error instanceof ApiFailure && error.status === 404) void queries.invalidateQueries({ queryKey: [APPROVALS] });
    },
  });
}

/** The advice is for callers of the API: it names their fields. */
function withoutAdvice(error: unknown): unknown {
  if (!(error instanceof ApiFailure) || !error.problem) return error;
  return new ApiFailure(error.status, error.code, error.problem.detail, error.problem);
}

function titleOf({ kind, patch, form }: Approval): string {
  if (kind === "command") return "Run a command";
  if (kind === "form") return `Question from ${visibleLine(form?.server ?? "a server")}`;
  return `Change ${plural(patch?.changes.length ?? 0, "file")}`;
}

function Signs({ approval: { needsPerson, staysInSandbox, kind } }: { readonly approval: Approval }) {
  return (
    <>
      {needsPerson && kind !== "form" && <span className="sign-bad">judged dangerous</span>}
      {kind === "command" &&
        (staysInSandbox ? <span className="sign">inside the sandbox</span> : <span className="sign-warn">outside the sandbox</span>)}
    </>
  );
}

function Deadline({ at }: { readonly at: string }) {
  const left = Date.parse(at) - useNow(1_000, true, serverNow);
  return (
    <span className={left < SOON_MS ? "warn deadline" : "quiet deadline"} title={`If nobody answers, it is denied at ${clock(at)}.`}>
      {left > 0 ? `${remaining(left)} left` : "expired"}
    </span>
  );
}

const SOON_MS = 2 * 60_000;

/** The thread and the folder that the question is about. Both are known on the thread's own page, unless a command runs in another folder. */
function Where({
  approval: { threadId, threadName, cwd, command },
  isInThread,
}: {
  readonly approval: Approval;
  readonly isInThread: boolean;
}) {
  // A thread without a name is shown by its first prompt.
  const { data: known } = useThreads(ALL_THREADS);
  const preview = known?.pages.flatMap(({ threads }) => threads).find(({ id }) => id === threadId)?.preview ?? "";
  const title = visibleLine(threadName ?? preview).slice(0, LONGEST_TITLE) || `Thread ${threadId.slice(0, 8)}`;
  const folder = command?.cwd ?? cwd;
  const isFolderKnown = folder === null || (isInThread && folder === cwd);
  if (isInThread && isFolderKnown) return null;
  return (
    <p className="where">
      {!isInThread && <a href={threadHref(threadId)}>{title}</a>}
      {!isFolderKnown && (
        <span className="quiet">
          in <span className="path">{visibleLine(folder)}</span>
        </span>
      )}
    </p>
  );
}

function Subject({ approval: { command, patch, cwd } }: { readonly approval: Approval }) {
  if (command)
    return (
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling element must be reachable by keyboard
      // biome-ignore lint/a11y/useSemanticElements: it needs a name but is not a landmark
      <div className="command" tabIndex={0} role="group" aria-label="The command">
        <pre>{visibleText(command.commandText)}</pre>
      </div>
    );
  if (!patch) return null;
  return (
    <div className="subject">
      {Object.entries(patch.outside).map(([path, target]) => (
        <p key={path} className="warning">
          {visibleLine(path)} is outside the thread's folder{target === path ? "" : `: it is a link to ${visibleLine(target)}`}.
        </p>
      ))}
      {patch.grantRoot !== null && (
        <p className="warning">Approving also lets the agent write anywhere below {visibleLine(patch.grantRoot)}.</p>
      )}
      {patch.changes.map((change, index) => (
        <FileChange key={change.path} change={change} isOpen={index < FILES_SHOWN} folder={cwd} />
      ))}
    </div>
  );
}

const FILES_SHOWN = 10;
const LONGEST_TITLE = 100;
