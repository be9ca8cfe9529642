import { type FormEvent, useId, useState } from "react";
import type { z } from "zod";
import type { AnswerBody, Approval } from "../../../src/api/schemas/threads.js";
import { formContent } from "../lib/formSchema.js";
import { visibleLine, visibleText } from "../lib/visibleText.js";
import { draftOfForm, keepForm, useDraft } from "../state/drafts.js";
import { FormFields } from "./formFields.js";

export type Answer = z.infer<typeof AnswerBody>;

interface ButtonsProps {
  readonly approval: Approval;
  readonly isBusy: boolean;
  readonly isDenying: boolean;
  readonly onAnswer: (answer: Answer) => void;
  readonly onDeny: () => void;
}

/** The answers to a question about a command or a change. */
export function Buttons({ approval, isBusy, isDenying, onAnswer, onDeny }: ButtonsProps) {
  const session = sessionMeaning(approval);
  return (
    <div className="actions">
      <button
        type="button"
        {...(!needsThought(approval) && { className: "primary" })}
        onClick={() => onAnswer({ decision: "approve" })}
        disabled={isBusy}
      >
        Approve
      </button>
      <button type="button" onClick={() => onAnswer({ decision: "approve-for-session" })} disabled={isBusy} title={session}>
        For the session
      </button>
      <button type="button" onClick={onDeny} aria-expanded={isDenying}>
        Deny…
      </button>
      {approval.command?.proposedPrefix && <span className="quiet session-meaning">{session}</span>}
      <span className="quiet card-keys" aria-hidden="true">
        <kbd>a</kbd> <kbd>s</kbd> <kbd>d</kbd>
      </span>
    </div>
  );
}

/** True for questions whose answer the page must not suggest: no button is emphasised. */
function needsThought({ needsPerson, staysInSandbox, kind, patch }: Approval): boolean {
  return (
    needsPerson ||
    (kind === "command" && !staysInSandbox) ||
    (patch !== null && (patch.grantRoot !== null || Object.keys(patch.outside).length > 0))
  );
}

function sessionMeaning({ command }: Approval): string {
  const prefix = command?.proposedPrefix;
  return prefix
    ? `For the session: every command that begins with ${visibleLine(prefix.join(" "))}`
    : "For the session: the same action, whenever it comes again";
}

interface DenialProps {
  readonly approval: Approval;
  readonly onDeny: (reason: string) => void;
  readonly onStop: () => void;
  readonly onCancel: () => void;
}

/** The reason of a denial; the agent reads it. */
export function Denial({ approval, onDeny, onStop, onCancel }: DenialProps) {
  const id = useId();
  const [reason, setReason] = useDraft(`denial ${approval.id}`);
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

interface FormAnswerProps {
  readonly approval: Approval;
  readonly mayAnswer: boolean;
  readonly onAnswer: (answer: Answer) => void;
}

/** The form of an MCP server. */
export function FormAnswer({ approval: { id, form }, mayAnswer, onAnswer }: FormAnswerProps) {
  const [draft] = useState(() => draftOfForm(id));
  if (!form) return null;
  if (!mayAnswer) return <p className="message">{visibleText(form.message)}</p>;
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    onAnswer({ decision: "answer", content: formContent(form.schema, new FormData(event.currentTarget)) });
  };
  return (
    <form onSubmit={submit} onChange={({ currentTarget }) => keepForm(id, new FormData(currentTarget))}>
      <p className="message">{visibleText(form.message)}</p>
      <FormFields schema={form.schema} draft={draft} />
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
