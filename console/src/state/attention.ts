import { useEffect, useRef } from "react";
import type { Approval } from "../../../src/api/schemas/threads.js";
import { visibleLine } from "../lib/visibleText.js";
import { preferences } from "./preferences.js";
import { goTo } from "./route.js";
import { Signal, useSignal } from "./signal.js";

const NAME = "codex-mcpd";

/** The page's part of the tab's title; empty for the inbox. */
const pageTitle = new Signal("");

export function usePageTitle(title: string): void {
  useEffect(() => {
    pageTitle.set(title);
    return () => pageTitle.set("");
  }, [title]);
}

/** Shows the number of open questions in the tab's title and a mark in its icon, and a notification for each new question while the tab is hidden. */
export function useAttention(approvals: readonly Approval[]): void {
  const announced = useRef<ReadonlySet<string> | undefined>(undefined);
  const page = useSignal(pageTitle);
  const isWaiting = approvals.length > 0;
  useEffect(() => {
    const title = page === "" ? NAME : `${page} · ${NAME}`;
    document.title = isWaiting ? `(${approvals.length}) ${title}` : title;
  }, [page, isWaiting, approvals.length]);
  useEffect(() => {
    const icon = document.querySelector<HTMLLinkElement>("link[rel=icon]");
    if (icon) icon.href = new URL(isWaiting ? "icon-waiting.svg" : "icon.svg", document.baseURI).href;
  }, [isWaiting]);
  useEffect(() => {
    // Questions that were open before the page was opened need no notification.
    const isNew = announced.current === undefined ? [] : approvals.filter(({ id }) => !announced.current?.has(id));
    announced.current = new Set(approvals.map(({ id }) => id));
    if (document.hidden && preferences.value.notifications) for (const approval of isNew) notify(approval);
  }, [approvals]);
}

/** Asks the user for permission; false if it was denied or the browser has no notifications. */
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
    // Mobile browsers need a service worker for notifications; the title still shows the number.
  }
}
