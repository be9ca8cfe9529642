import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { ThreadResource, ThreadSummaryResource } from "../../../src/api/schemas/threads.js";
import { request } from "../api/requests.js";
import { THREAD, THREADS } from "../state/queries.js";
import { goTo, threadHref } from "../state/route.js";
import { Trouble } from "./trouble.js";

/** Actions on a whole thread. */
export function ThreadActions({ thread }: { readonly thread: ThreadResource }) {
  const { id, state, archived, name } = thread;
  const queries = useQueryClient();
  const [isRenaming, setRenaming] = useState(false);
  const [isStopping, setStopping] = useState(false);
  const [isFolded, setFolded] = useState(true);
  const act = useMutation({
    mutationFn: (action: () => Promise<void>) => action(),
    onSettled() {
      void queries.invalidateQueries({ queryKey: [THREAD, id] });
      void queries.invalidateQueries({ queryKey: [THREADS] });
    },
  });
  const at = `threads/${id}`;
  const change = (body: { name?: string; archived?: boolean }) => act.mutate(() => request(at, { method: "PATCH", body }));
  return (
    <div className={isFolded ? "actions thread-actions is-folded" : "actions thread-actions"}>
      {state !== "idle" && (
        <button
          type="button"
          className="danger"
          disabled={act.isPending}
          onClick={() => {
            setStopping(true);
            act.mutate(() => request(`${at}/interrupt`, { method: "POST" }), { onSettled: () => setStopping(false) });
          }}
        >
          {isStopping ? "Stopping…" : "Stop"}
        </button>
      )}
      <button
        type="button"
        className="menu-toggle"
        aria-label="More actions"
        aria-expanded={!isFolded}
        onClick={() => setFolded(!isFolded)}
      >
        ⋯
      </button>
      <button
        type="button"
        className="minor"
        disabled={act.isPending}
        title="A new thread with the same history"
        onClick={() =>
          act.mutate(async () => {
            const fork = await request<ThreadSummaryResource>(`${at}/fork`, { method: "POST" });
            goTo(threadHref(fork.id));
          })
        }
      >
        Fork
      </button>
      <button type="button" className="minor" aria-expanded={isRenaming} onClick={() => setRenaming(!isRenaming)}>
        Rename
      </button>
      <button type="button" className="minor" disabled={act.isPending} onClick={() => change({ archived: !archived })}>
        {archived ? "Unarchive" : "Archive"}
      </button>
      {isRenaming && (
        <form
          className="rename"
          onSubmit={(event) => {
            event.preventDefault();
            const given = new FormData(event.currentTarget).get("name");
            if (typeof given === "string" && given.trim() !== "") change({ name: given.trim() });
            setRenaming(false);
          }}
          onKeyDown={(event) => event.key === "Escape" && setRenaming(false)}
        >
          <input
            name="name"
            aria-label="Name of the thread"
            defaultValue={name ?? ""}
            maxLength={200}
            required
            // biome-ignore lint/a11y/noAutofocus: the user opened it with a click
            autoFocus
            autoComplete="off"
          />
          <button type="submit" className="primary">
            Save
          </button>
        </form>
      )}
      <Trouble error={act.error} />
    </div>
  );
}
