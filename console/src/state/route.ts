import { Signal } from "./signal.js";

export type Route =
  | { readonly page: "inbox" | "threads" | "new" | "numbers" | "doctor" }
  | { readonly page: "thread"; readonly threadId: string; readonly itemId: string | undefined };

const PAGES = ["inbox", "threads", "new", "numbers", "doctor"] as const;

/** The page is in the fragment (`#`), so that the server serves a single file and works below any path of a proxy. */
export function routeOf(hash: string): Route {
  const [first = "", threadId = "", itemId] = hash.replace(/^#\/?/, "").split("/").map(decoded);
  const page = PAGES.find((name) => name === first);
  if (page) return { page };
  return first === "thread" && threadId ? { page: "thread", threadId, itemId } : { page: "inbox" };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}

export function threadHref(threadId: string): string {
  return `#/thread/${encodeURIComponent(threadId)}`;
}

export const route = new Signal<Route>(routeOf(location.hash));
window.addEventListener("hashchange", () => route.set(routeOf(location.hash)));

export function goTo(hash: string): void {
  location.hash = hash;
}
