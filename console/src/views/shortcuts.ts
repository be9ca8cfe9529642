import { useEffect } from "react";
import { preferences } from "../state/preferences.js";
import { goTo } from "../state/route.js";

const WRITING = "input, textarea, select, [contenteditable]";

/** Single-key shortcuts for the whole page, unless the user is typing or turned them off. */
export function useShortcuts(showHelp: () => void): void {
  useEffect(() => {
    const keys: Readonly<Record<string, () => void>> = {
      i: () => goTo("#/inbox"),
      n: () => goTo("#/new"),
      t: () => focusOn("[data-search]") || goTo("#/threads"),
      r: () => focusOn("[data-composer]"),
      j: () => stepTo(1),
      k: () => stepTo(-1),
      "?": showHelp,
    };
    const onKey = (event: KeyboardEvent) => {
      const isWriting = event.target instanceof Element && event.target.closest(`${WRITING}, dialog`) !== null;
      if (isWriting || event.ctrlKey || event.metaKey || event.altKey || !preferences.value.shortcuts) return;
      const act = Object.hasOwn(keys, event.key) ? keys[event.key] : undefined;
      if (!act) return;
      event.preventDefault();
      act();
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, [showHelp]);
}

/** False if the element is missing or hidden. */
function focusOn(selector: string): boolean {
  const element = document.querySelector<HTMLElement>(selector);
  if (!element || element.offsetParent === null) return false;
  element.focus();
  return true;
}

function stepTo(direction: 1 | -1): void {
  const cards = [...document.querySelectorAll<HTMLElement>("article.approval")];
  const at = cards.findIndex((card) => card.contains(document.activeElement));
  const next = at < 0 ? (direction === 1 ? 0 : cards.length - 1) : at + direction;
  cards[next]?.focus();
}
