import { useQueryClient } from "@tanstack/react-query";
import { lazy, type ReactNode, Suspense, useCallback, useEffect, useRef } from "react";
import { ApiFailure } from "./api/requests.js";
import { useAttention } from "./state/attention.js";
import { useApprovals, useHealth, useMe } from "./state/queries.js";
import { type Route, route } from "./state/route.js";
import { connection, refusal, watchServer } from "./state/serverWatch.js";
import { useSignal } from "./state/signal.js";
import { Icon, type IconName } from "./views/icon.js";
import { Inbox } from "./views/inbox.js";
import { Login } from "./views/login.js";
import { NewThread } from "./views/newThread.js";
import { Settings } from "./views/settings.js";
import { useShortcuts } from "./views/shortcuts.js";
import { ThreadList } from "./views/threadList.js";
import { ThreadPage } from "./views/threadPage.js";
import { Trouble } from "./views/trouble.js";

const Numbers = lazy(async () => ({ default: (await import("./views/numbers.js")).Numbers }));
const Doctor = lazy(async () => ({ default: (await import("./views/doctor.js")).Doctor }));

/** The console, or the login page. */
export function App({ loginError }: { readonly loginError: unknown }) {
  const { data: me, error, refetch } = useMe();
  const refused = useSignal(refusal);
  const failure = error ?? refused;
  if (failure instanceof ApiFailure && failure.status === 401) return <Login error={loginError} />;
  if (me) return <Frame />;
  return (
    <main className="login">{error ? <Trouble error={error} onRetry={() => void refetch()} /> : <p className="quiet">Connecting…</p>}</main>
  );
}

function Frame() {
  const queries = useQueryClient();
  const shown = useSignal(route);
  const { data } = useApprovals();
  const approvals = data?.approvals ?? NOTHING;
  const dialog = useRef<HTMLDialogElement>(null);
  const main = useRef<HTMLElement>(null);
  const showSettings = useCallback(() => dialog.current?.showModal(), []);
  useAttention(approvals);
  useShortcuts(showSettings);
  useFocusOnPage(main, shown);
  useEffect(() => {
    const life = new AbortController();
    watchServer(queries, life.signal);
    return () => life.abort();
  }, [queries]);
  const threadId = shown.page === "thread" ? shown.threadId : undefined;
  return (
    <div className={`frame frame-${shown.page}`}>
      <button type="button" className="skip" onClick={() => main.current?.focus()}>
        Skip to the page
      </button>
      <header className="top">
        <h1>
          <img src="icon.svg" alt="" width="18" height="18" />
          codex-mcpd
        </h1>
        <nav aria-label="Pages">
          <PageLink to="inbox" shown={shown}>
            Inbox{approvals.length > 0 && <span className="badge">{approvals.length}</span>}
          </PageLink>
          <PageLink to="threads" shown={shown}>
            Threads
          </PageLink>
          <PageLink to="new" shown={shown}>
            New
          </PageLink>
          <PageLink to="numbers" shown={shown}>
            Metrics
          </PageLink>
          <PageLink to="doctor" shown={shown}>
            Doctor
          </PageLink>
        </nav>
        <button type="button" className="page-link settings-link" onClick={showSettings} aria-label="Settings and keys">
          <Icon name="settings" />
          <span>Settings</span>
        </button>
      </header>
      <aside>
        <ThreadList shownId={threadId} />
        <ServerLine />
      </aside>
      <main id="main" ref={main} tabIndex={-1}>
        <ConnectionNote />
        <Suspense fallback={<p className="quiet">Loading…</p>}>
          <Page shown={shown} />
        </Suspense>
      </main>
      <Settings dialog={dialog} />
    </div>
  );
}

const NOTHING: readonly never[] = [];

/** The engine and the version of the server. */
function ServerLine() {
  const { data: health } = useHealth();
  if (!health) return null;
  const { engine, version } = health;
  return (
    <p className="server-line quiet">
      {engine === "scripted" ? <span className="sign-warn">scripted: no model</span> : <span>engine {engine}</span>}
      <span>{version}</span>
    </p>
  );
}

function Page({ shown }: { readonly shown: Route }): ReactNode {
  switch (shown.page) {
    // On wide screens the list of threads is beside every page.
    case "threads":
    case "inbox":
      return <Inbox />;
    case "thread":
      return <ThreadPage key={shown.threadId} threadId={shown.threadId} />;
    case "new":
      return <NewThread />;
    case "numbers":
      return <Numbers />;
    case "doctor":
      return <Doctor />;
  }
}

interface PageLinkProps {
  readonly to: Exclude<IconName, "settings">;
  readonly shown: Route;
  readonly children: ReactNode;
}

function PageLink({ to, shown, children }: PageLinkProps) {
  return (
    <a href={`#/${to}`} className={`page-link page-link-${to}`} {...(shown.page === to && { "aria-current": "page" })}>
      <Icon name={to} />
      <span>{children}</span>
    </a>
  );
}

function ConnectionNote() {
  const now = useSignal(connection);
  return (
    <p className={now === "lost" ? "lost" : "visually-hidden"} role="status">
      {now === "lost" ? "The server does not answer. Trying again." : ""}
    </p>
  );
}

/** Moves the focus to the start of a new page, for keyboards and screen readers. */
function useFocusOnPage(main: React.RefObject<HTMLElement | null>, shown: Route): void {
  const before = useRef(shown);
  useEffect(() => {
    if (before.current === shown) return;
    before.current = shown;
    (main.current?.querySelector<HTMLElement>("h2[tabindex]") ?? main.current)?.focus({ preventScroll: true });
  }, [main, shown]);
}
