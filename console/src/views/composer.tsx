import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type KeyboardEvent, useId } from "react";
import { request } from "../api/requests.js";
import { useDraft } from "../state/drafts.js";
import { THREAD, THREADS } from "../state/queries.js";
import { Trouble } from "./trouble.js";

interface ComposerProps {
  readonly threadId: string;
  readonly isRunning: boolean;
}

const SEND_KEYS = /Mac|iPhone|iPad/.test(navigator.userAgent) ? "⌘ Enter" : "Ctrl Enter";

/** The box for a reply or, while a turn runs, for further instructions to it. */
export function Composer({ threadId, isRunning }: ComposerProps) {
  const id = useId();
  const [text, setText] = useDraft(threadId);
  const queries = useQueryClient();
  const send = useMutation({
    mutationFn: (way: "turn" | "steer") =>
      way === "steer"
        ? request<void>(`threads/${threadId}/steer`, { method: "POST", body: { text } })
        : request<unknown>(`threads/${threadId}/turns`, { method: "POST", body: { prompt: text } }),
    onSuccess() {
      setText("");
      void queries.invalidateQueries({ queryKey: [THREAD, threadId] });
      void queries.invalidateQueries({ queryKey: [THREADS] });
    },
  });
  const give = (way: "turn" | "steer") => text.trim() !== "" && !send.isPending && send.mutate(way);
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    give(isRunning ? "steer" : "turn");
  };
  const isEmpty = text.trim() === "" || send.isPending;
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault();
        give(isRunning ? "steer" : "turn");
      }}
    >
      <label htmlFor={id} className="visually-hidden">
        {isRunning ? "Further instructions for the running turn" : "Reply"}
      </label>
      <textarea
        id={id}
        rows={2}
        value={text}
        onChange={({ target }) => setText(target.value)}
        onKeyDown={onKey}
        placeholder={isRunning ? "Tell the running turn something more" : "Reply"}
        aria-describedby={`${id}-keys`}
        aria-keyshortcuts="Control+Enter"
        data-composer
      />
      <div className="actions">
        {isRunning && (
          <button type="button" disabled={isEmpty} onClick={() => give("turn")} title="Runs when this turn has ended">
            Next turn
          </button>
        )}
        <button
          type="submit"
          className="primary"
          disabled={isEmpty}
          title={isRunning ? "The running turn reads it at its next step" : undefined}
        >
          {isRunning ? "Steer" : "Send"}
        </button>
      </div>
      <p id={`${id}-keys`} className="quiet composer-keys">
        <kbd>{SEND_KEYS}</kbd> {isRunning ? "steers the running turn" : "sends"}
      </p>
      <Trouble error={send.error} />
    </form>
  );
}
