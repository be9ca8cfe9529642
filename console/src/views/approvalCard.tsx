import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type KeyboardEvent, useId, useRef, useState } from "react";
import type { z } from "zod";
import type { Settlement } from "../../../src/api/schemas/common.js";
import type { AnswerBody, Approval } from "../../../src/api/schemas/threads.js";
import { ApiFailure, request } from "../api/requests.js";
import { duration, folderName, plural } from "../lib/formats.js";
import { visibleLine, visibleText } from "../lib/visibleText.js";
import { ALL_THREADS, APPROVALS, useThreads } from "../state/queries.js";
import { threadHref } from "../state/route.js";
import { settled } from "../state/serverWatch.js";
import { FileChange } from "./diff.js";
import { FormFields, formContent } from "./formFields.js";
import { Trouble } from "./trouble.js";
import { useNow } from "./useNow.js";

type Answer = z.infer<typeof AnswerBody>;

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
  // A denial is accepted even then: its reason was written for this card.
  const give = (body: Answer) => !answer.isPending && (body.decision === "deny" || isSteady()) && answer.mutate(body);
  const onKey = (event: KeyboardEvent) => {
    if (event.target !== card.current || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "a" && decisions.includes("approve")) give({ decision: "approve" });
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
      // biome-ignore lint/a11y/noNoninteractiveTabindex: cards are gone through one by one
      tabIndex={0}
      onKeyDown={onKey}
      data-approval={id}
    >
      <header>
        <h3 id={heading}>{titleOf(approval)}</h3>
        <Signs approval={approval} />
        <Deadline at={approval.deadline} />
      </header>
      {!isInThread && <Where approval={approval} />}
      {reason !== null && <p className="reason">{visibleText(reason)}</p>}
      {approval.form ? (
        <FormAnswer approval={approval} onAnswer={give} />
      ) : (
        <>
          <Subject approval={approval} />
          <div className="actions">
            <button type="button" className="primary" onClick={() => give({ decision: "approve" })} disabled={answer.isPending}>
              Approve
            </button>
            <button
              type="button"
              onClick={() => give({ decision: "approve-for-session" })}
              disabled={answer.isPending}
              title={sessionMeaning(approval)}
            >
              For the session
            </button>
            <button type="button" onClick={() => setDenying(!isDenying)} aria-expanded={isDenying}>
              Deny…
            </button>
          </div>
        </>
      )}
      {isDenying && (
        <Denial
          onDeny={(why) => give({ decision: "deny", ...(why && { reason: why }) })}
          onStop={() => give({ decision: "abort" })}
          onCancel={() => {
            setDenying(false);
            card.current?.focus();
          }}
        />
      )}
      <Trouble error={answer.error} />
    </article>
  );
}

function useAnswer(id: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: Answer) =>
      request<{ settlement: Settlement }>(`approvals/${encodeURIComponent(id)}/answer`, { method: "POST", body }),
    onSuccess: ({ settlement }) => settled(queries, id, settlement),
    onError(error) {
      // Another answer came first: the question leaves the list with that settlement.
      const before = error instanceof ApiFailure ? error.problem?.settlement : undefined;
      if (before) settled(queries, id, before);
      else if (error instanceof ApiFailure && error.status === 404) void queries.invalidateQueries({ queryKey: [APPROVALS] });
    },
  });
}

function titleOf({ kind, patch, form }: Approval): string {
  if (kind === "command") return "Run a command";
  if (kind === "form") return `Question from ${visibleLine(form?.server ?? "a server")}`;
  return `Change ${plural(patch?.changes.length ?? 0, "file")}`;
}

function sessionMeaning({ command }: Approval): string {
  const prefix = command?.proposedPrefix;
  return prefix
    ? `Also every command of this session that begins with: ${visibleLine(prefix.join(" "))}`
    : "Also the same action later in this session";
}

function Signs({ approval: { needsPerson, staysInSandbox, kind } }: { readonly approval: Approval }) {
  return (
    <>
      {needsPerson && <span className="sign-bad">judged dangerous</span>}
      {kind === "command" &&
        (staysInSandbox ? <span className="sign">inside the sandbox</span> : <span className="sign-warn">outside the sandbox</span>)}
    </>
  );
}

function Deadline({ at }: { readonly at: string }) {
  const left = Date.parse(at) - useNow(1_000);
  return <span className="quiet deadline">{left > 0 ? `denied in ${duration(left)}` : "expired"}</span>;
}

function Where({ approval: { threadId, threadName, cwd } }: { readonly approval: Approval }) {
  // A thread without a name is shown by its first prompt.
  const { data: known } = useThreads(ALL_THREADS);
  const preview = known?.pages.flatMap(({ threads }) => threads).find(({ id }) => id === threadId)?.preview ?? "";
  const title = visibleLine(threadName ?? preview).slice(0, LONGEST_TITLE) || `Thread ${threadId.slice(0, 8)}`;
  return (
    <p className="where">
      <a href={threadHref(threadId)}>{title}</a>
      {cwd !== null && (
        <span className="quiet" title={cwd}>
          {" "}
          in {visibleLine(folderName(cwd))}
        </span>
      )}
    </p>
  );
}

function Subject({ approval: { command, patch, cwd } }: { readonly approval: Approval }) {
  if (command)
    return (
      <div className="subject">
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling element must be reachable by keyboard */}
        {/* biome-ignore lint/a11y/useSemanticElements: it needs a name but is not a landmark */}
        <div className="command" tabIndex={0} role="group" aria-label="The command">
          <pre>{visibleText(command.commandText)}</pre>
        </div>
        <p className="quiet">
          in <span className="path">{visibleLine(command.cwd)}</span>
        </p>
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
      {cwd !== null && (
        <p className="quiet">
          in <span className="path">{visibleLine(cwd)}</span>
        </p>
      )}
    </div>
  );
}

const FILES_SHOWN = 10;
const LONGEST_TITLE = 100;

interface DenialProps {
  readonly onDeny: (reason: string) => void;
  readonly onStop: () => void;
  readonly onCancel: () => void;
}

function Denial({ onDeny, onStop, onCancel }: DenialProps) {
  const id = useId();
  const [reason, setReason] = useState("");
  return (
    <form
      className="denial"
      onSubmit={(event) => {
        event.preventDefault();
        onDeny(reason.trim());
      }}
      onKeyDown={(event) => event.key === "Escape" && onCancel()}
    >
      <label htmlFor={id}>What should the agent do instead? It reads this.</label>
      {/* biome-ignore lint/a11y/noAutofocus: it was asked for by a key or a click just now */}
      <input id={id} value={reason} onChange={({ target }) => setReason(target.value)} maxLength={10_000} autoFocus autoComplete="off" />
      <div className="actions">
        <button type="submit" className="danger">
          Deny
        </button>
        <button type="button" onClick={onStop}>
          Deny and stop the turn
        </button>
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  );
}

function FormAnswer({ approval: { form }, onAnswer }: { readonly approval: Approval; readonly onAnswer: (answer: Answer) => void }) {
  if (!form) return null;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    onAnswer({ decision: "answer", content: formContent(form.schema, new FormData(event.currentTarget)) });
  };
  return (
    <form onSubmit={submit}>
      <p className="message">{visibleText(form.message)}</p>
      <FormFields schema={form.schema} />
      <div className="actions">
        <button type="submit" className="primary">
          Answer
        </button>
        <button type="button" onClick={() => onAnswer({ decision: "deny" })}>
          Decline
        </button>
        <button type="button" onClick={() => onAnswer({ decision: "abort" })}>
          Decline and stop the turn
        </button>
      </div>
    </form>
  );
}
