import { expect, it } from "vitest";
import { complaints } from "./complaints.js";
import type { SoakReport } from "./soak.js";

const CLEAN: SoakReport = {
  visits: { talk: 3 },
  failures: [],
  sessionsLeft: 0,
  before: { rss: 100, heapUsed: 10, resources: { TCPServerWrap: 1 }, descriptors: ["socket:[1]", "/dev/null"], children: 0 },
  after: { rss: 109, heapUsed: 10, resources: { TCPServerWrap: 1 }, descriptors: ["socket:[9]", "/dev/null"], children: 0 },
  errors: "",
};
const MARGIN = { memoryMargin: 1.1 };

it("a server with the same resources as before gets no complaint", () => {
  expect(complaints(CLEAN, MARGIN)).toEqual([]);
});

it("a few pipes that the server keeps for later commands are no leak", () => {
  const pipes = (count: number) => Array.from({ length: count }, (_, at) => `/dev/shm/codex-mcpd-abc/${at} (deleted)`);
  const left = (count: number) => complaints({ ...CLEAN, after: { ...CLEAN.after, descriptors: pipes(count) } }, MARGIN);
  expect([left(32), left(33)]).toEqual([[], ["file descriptors: 33 of pipes kept for commands to come, where there may be 32"]]);
});

it("names every leftover", () => {
  const full: SoakReport = {
    ...CLEAN,
    failures: ["talk: no answer"],
    sessionsLeft: 2,
    after: { rss: 120, heapUsed: 10, resources: { TCPServerWrap: 1, Timeout: 4 }, descriptors: ["socket:[1]", "socket:[2]"], children: 1 },
  };
  expect(complaints(full, MARGIN)).toEqual([
    "talk: no answer",
    "2 sessions did not end",
    "1 processes still run",
    "active resources: 4 of Timeout, where there may be 0",
    "file descriptors: 2 of socket, where there may be 1",
    "RSS grew from 100 to 120 bytes",
  ]);
});
