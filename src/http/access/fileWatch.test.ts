import { renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { tempHome } from "../../../test/support/threads/rollouts.js";
import { FileWatch } from "./fileWatch.js";

function watched(): { readonly folder: string; readonly file: string; readonly watch: FileWatch } {
  const home = tempHome();
  onTestFinished(() => home[Symbol.dispose]());
  const file = path.join(home.path, "tokens");
  writeFileSync(file, "one");
  return { folder: home.path, file, watch: new FileWatch([file]) };
}

it("reports a change once, and nothing while the file stays as it is", () => {
  const { file, watch } = watched();
  const before = watch.happened();
  writeFileSync(file, "longer");
  expect([before, watch.happened(), watch.happened()]).toEqual([false, true, false]);
});

it.each<[string, (place: { readonly folder: string; readonly file: string }) => void]>([
  [
    "is replaced by a file of the same size, as editors do",
    ({ folder, file }) => {
      writeFileSync(path.join(folder, "new"), "two");
      renameSync(path.join(folder, "new"), file);
    },
  ],
  ["is removed", ({ file }) => rmSync(file)],
  [
    "becomes a link to another file, as in mounted secrets",
    ({ folder, file }) => {
      writeFileSync(path.join(folder, "data"), "one");
      rmSync(file);
      symlinkSync("data", file);
    },
  ],
])("sees that a file %s", (_, change) => {
  const { watch, ...place } = watched();
  change(place);
  expect(watch.happened()).toBe(true);
});

it("sees that a missing file appears", () => {
  const { folder } = watched();
  const watch = new FileWatch([path.join(folder, "later")]);
  expect(watch.happened()).toBe(false);
  writeFileSync(path.join(folder, "later"), "");
  expect(watch.happened()).toBe(true);
});

it("looks every second until it is closed", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const watch = new FileWatch([]);
  let looks = 0;
  watch.everySecond(() => looks++);
  vi.advanceTimersByTime(3_000);
  watch.close();
  vi.advanceTimersByTime(3_000);
  expect(looks).toBe(3);
});
