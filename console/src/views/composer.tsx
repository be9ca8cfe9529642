import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type KeyboardEvent, useId, useState } from "react";
import { request } from "../api/requests.js";
import { THREAD, THREADS } from "../state/queries.js";
import { Trouble } from "./trouble.js";

interface ComposerProps {
  readonly threadId: string;
  readonly isRunning: boolean;
}

/** The box for a reply or, while a turn runs, for further instructions to it. */
export function Composer({ threadId, isRunning }: ComposerProps) {
  const id = useId();
  const [text, setText] = useState("");
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
        aria-keyshortcuts="Control+Enter"
        data-composer
      />
      <div className="actions">
        <button type="submit" className="primary" disabled={isEmpty} title="Ctrl+Enter">
          {isRunning ? "Steer" : "Send"}
        </button>
        {isRunning && (
          <button type="button" disabled={isEmpty} onClick={() => give("turn")}>
            Next turn
          </button>
        )}
      </div>
      <Trouble error={send.error} />
    </form>
  );
}
