import { createContext, useCallback } from "react";
import { flushSync } from "react-dom";
import type { TimelineItem as Item } from "../../../src/api/schemas/items.js";
import { diffLines } from "../lib/diffLines.js";
import type { ThreadStory } from "../state/threadStory.js";

/** Shows a line of a file in a diff on the page. Returns false if no diff has it. */
export type Jump = (file: string, line: number) => boolean;

export const JumpContext = createContext<Jump>(() => false);

/** Jumps within a timeline. If the segment with the line is far outside the viewport, it is rendered first. */
export function useJumping(story: ThreadStory, box: React.RefObject<HTMLDivElement | null>): Jump {
  return useCallback(
    (file, line) => {
      const id = story.lastItem((item) => changedLine(item, file, line));
      if (id === undefined) return false;
      flushSync(() => story.sought.set(id));
      const rows = box.current?.querySelectorAll<HTMLElement>(`[data-item="${CSS.escape(id)}"] tr[data-place]`) ?? [];
      const row = [...rows].find(({ dataset: { place = "" } }) => {
        const at = place.lastIndexOf(":");
        return Number(place.slice(at + 1)) === line && isSameFile(place.slice(0, at), file);
      });
      // The line may be in the folded part of a long diff.
      if (row) show(row);
      return row !== undefined;
    },
    [story, box],
  );
}

function changedLine(item: Item, file: string, line: number): boolean {
  return (
    item.type === "patch" &&
    item.changes.some(
      ({ path, diff, hasLineNumbers }) => hasLineNumbers && isSameFile(path, file) && diffLines(diff).some(({ after }) => after === line),
    )
  );
}

/** Reviews name files by their absolute path, patches often by a path relative to the folder. */
function isSameFile(one: string, other: string): boolean {
  return one === other || other.endsWith(`/${one}`) || one.endsWith(`/${other}`);
}

const SHOWN_MS = 3_000;

function show(row: Element): void {
  const folded = row.closest("details");
  if (folded) folded.open = true;
  row.scrollIntoView({ block: "center" });
  row.classList.add("is-shown");
  setTimeout(() => row.classList.remove("is-shown"), SHOWN_MS);
}
