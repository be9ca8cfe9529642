import { useEffect, useRef } from "react";
import type { Approval } from "../../../src/api/schemas/threads.js";
import { visibleLine } from "../lib/visibleText.js";
import { preferences } from "./preferences.js";
import { goTo } from "./route.js";

const NAME = "codex-mcpd";

/** The tab's title says how much waits; a notification tells of each question that comes while nobody looks. */
export function useAttention(approvals: readonly Approval[]): void {
  const told = useRef<ReadonlySet<string> | undefined>(undefined);
  useEffect(() => {
    document.title = approvals.length === 0 ? NAME : `(${approvals.length}) ${NAME}`;
    // What waited before the page was opened is seen by whoever opened it.
    const isNew = told.current === undefined ? [] : approvals.filter(({ id }) => !told.current?.has(id));
    told.current = new Set(approvals.map(({ id }) => id));
    if (document.hidden && preferences.value.notifications) for (const approval of isNew) notify(approval);
  }, [approvals]);
}

/** Asks the browser's user; false when they said no, or the browser has none. */
export async function allowNotifications(): Promise<boolean> {
  return "Notification" in window && (await Notification.requestPermission()) === "granted";
}

function notify({ id, command, patch, form, threadName }: Approval): void {
  if (!("Notification" in window) || Notification.permission !== "granted") return;
  const what = command?.commandText ?? form?.message ?? patch?.changes.map(({ path }) => path).join(", ") ?? "";
  try {
    const notification = new Notification(threadName ? `${threadName} waits for you` : "The agent waits for you", {
      body: visibleLine(what).slice(0, 200),
      tag: id,
    });
    notification.addEventListener("click", () => {
      window.focus();
      goTo("#/inbox");
      notification.close();
    });
  } catch {
    // Browsers of phones want a service worker for it: the title has to do.
  }
}
