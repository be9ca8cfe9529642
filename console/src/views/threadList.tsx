import { useDeferredValue, useMemo, useState } from "react";
import type { ThreadSummaryResource } from "../../../src/api/schemas/threads.js";
import { serverNow } from "../api/requests.js";
import { ago, folderName, roughly, stepFrom } from "../lib/formats.js";
import { visibleLine } from "../lib/visibleText.js";
import { useProjects, useThreads } from "../state/queries.js";
import { threadHref } from "../state/route.js";
import { titleOfThread } from "./threadPage.js";
import { Trouble } from "./trouble.js";
import { monotonic, useNow } from "./useNow.js";

/** All threads, by folder, with their current step. */
export function ThreadList({ shownId }: { readonly shownId: string | undefined }) {
  const [search, setSearch] = useState("");
  const [cwd, setCwd] = useState("");
  const [archived, setArchived] = useState(false);
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useThreads({
    search: useDeferredValue(search.trim()),
    cwd,
    archived,
  });
  const { data: projects } = useProjects();
  const threads = data?.pages.flatMap((page) => page.threads) ?? [];
  return (
    <nav className="threads" aria-label="Threads">
      <div className="filters">
        <input
          type="search"
          aria-label="Search threads"
          placeholder="Search"
          value={search}
          onChange={({ target }) => setSearch(target.value)}
          maxLength={500}
          data-search
        />
        <select aria-label="Folder" value={cwd} onChange={({ target }) => setCwd(target.value)}>
          <option value="">All folders</option>
          {projects?.projects.map((project) => (
            <option key={project.cwd} value={project.cwd}>
              {visibleLine(folderName(project.cwd))} ({project.threads})
            </option>
          ))}
        </select>
        <label className="archived">
          <input type="checkbox" checked={archived} onChange={({ target }) => setArchived(target.checked)} /> Archived
        </label>
      </div>
      <Trouble error={error} onRetry={() => void refetch()} />
      {data && threads.length === 0 && <p className="quiet">{search || cwd || archived ? "No matching threads." : "No threads yet."}</p>}
      {byFolder(threads).map(([folder, there]) => (
        <section key={folder} aria-label={folder}>
          <h2 title={folder}>{visibleLine(folderName(folder))}</h2>
          <ul>
            {there.map((thread) => (
              <ThreadRow key={thread.id} thread={thread} isShown={thread.id === shownId} />
            ))}
          </ul>
        </section>
      ))}
      {hasNextPage && (
        <button type="button" onClick={() => void fetchNextPage()} disabled={isFetchingNextPage}>
          More
        </button>
      )}
    </nav>
  );
}

interface ThreadRowProps {
  readonly thread: ThreadSummaryResource;
  readonly isShown: boolean;
  /** For lists that are not ordered by folder. */
  readonly isFolderNamed?: boolean;
}

export function ThreadRow({ thread, isShown, isFolderNamed = false }: ThreadRowProps) {
  const { id, state, activity, updatedAt, cwd } = thread;
  const now = useNow(30_000, true, serverNow);
  return (
    <li>
      <a href={threadHref(id)} className={`row row-${state}`} {...(isShown && { "aria-current": "page" })}>
        <span className={`dot dot-${state}`} aria-hidden="true" />
        <span className="row-title">{titleOfThread(thread)}</span>
        <span className="row-time">
          {state !== "idle" && <span className="visually-hidden">{state} </span>}
          {activity ? <Since activity={activity} /> : ago(updatedAt, now)}
        </span>
        {(activity !== null || isFolderNamed) && (
          <span className="row-step">
            {isFolderNamed && <span title={cwd}>{visibleLine(folderName(cwd))} · </span>}
            {activity && visibleLine(stepFrom(cwd, activity.step.text))}
          </span>
        )}
      </a>
    </li>
  );
}

/** How long the turn has run: the server's value, plus the time since the response. */
function Since({ activity }: { readonly activity: NonNullable<ThreadSummaryResource["activity"]> }) {
  const begun = useMemo(() => monotonic() - activity.ms, [activity]);
  return roughly(Math.max(activity.ms, useNow(1_000, true, monotonic) - begun));
}

const RANK = { waiting: 0, running: 1, idle: 2 } as const;

/** In each folder, waiting threads come first, then running ones; folders are in the order of their newest thread. */
function byFolder(threads: readonly ThreadSummaryResource[]): readonly (readonly [string, readonly ThreadSummaryResource[]])[] {
  const folders = new Map<string, ThreadSummaryResource[]>();
  // Pages may repeat a thread if another thread was used between two reads.
  for (const thread of new Map(threads.map((each) => [each.id, each])).values()) {
    const there = folders.get(thread.cwd) ?? [];
    there.push(thread);
    folders.set(thread.cwd, there);
  }
  return [...folders].map(([folder, there]) => [folder, there.sort((one, other) => RANK[one.state] - RANK[other.state])]);
}
