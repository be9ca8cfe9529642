import "./styles/base.css";
import "./styles/frame.css";
import "./styles/pages.css";
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiFailure } from "./api/requests.js";
import { App } from "./app.js";
import { codeInAddress, hasCode, logInWithCode } from "./state/login.js";
import { ME } from "./state/queries.js";
import { route, routeOf } from "./state/route.js";

const MOST_RETRIES = 3;

/** A login that has expired is noticed by the first request that is refused. Whether there is one is asked for again, which shows the login page. */
function checkLogin(error: unknown, queryKey: readonly unknown[] = []): void {
  if (error instanceof ApiFailure && error.status === 401 && queryKey[0] !== ME) void queries.invalidateQueries({ queryKey: [ME] });
}

const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: (error, { queryKey }) => checkLogin(error, queryKey) }),
  mutationCache: new MutationCache({ onError: (error) => checkLogin(error) }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      refetchOnWindowFocus: true,
      // A refusal is final; a server that is restarting is worth a retry.
      retry: (failures, error) => failures < MOST_RETRIES && error instanceof ApiFailure && (error.status === 0 || error.status >= 500),
    },
  },
});

// The printed address may be pasted into an open tab: only its fragment changes then, and the browser loads nothing.
window.addEventListener("hashchange", () => hasCode() && location.reload());

const code = codeInAddress();
route.set(routeOf(location.hash));
const loginError = code === undefined ? undefined : await logInWithCode(code).catch((error: unknown) => error);

const root = document.getElementById("root");
if (root)
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <App loginError={loginError} />
      </QueryClientProvider>
    </StrictMode>,
  );
