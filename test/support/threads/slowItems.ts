import type { RawItem } from "../../../src/threads/items.js";

/** Longer than anybody may keep others waiting. */
const SLOW_MS = 30;

export function spin(): void {
  const until = performance.now() + SLOW_MS;
  while (performance.now() < until);
}

/** Items of a long history, one of which takes long to look at. */
export function slowItems(): RawItem[] {
  const items = Array.from({ length: 200 }, (_, at): RawItem => ({ type: "message", role: "user", content: [{ text: `${at}` }] }));
  return items.map((item, at) => {
    if (at !== 3) return item;
    return {
      ...item,
      get type() {
        spin();
        return item.type;
      },
    };
  });
}

/** What the work returns, and whether others got their turn before its end. */
export async function withOthers<T>(work: () => Promise<T>): Promise<{ readonly value: T; readonly others: boolean }> {
  let others = false;
  setImmediate(() => {
    others = true;
  });
  const value = await work();
  return { value, others };
}
