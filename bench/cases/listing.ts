import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { RolloutList } from "../../src/stores/files/threads/rolloutList.js";
import { ShelfPacks } from "../../src/stores/files/threads/shelfPacks.js";
import { ThreadTitles } from "../../src/stores/files/threads/threadTitles.js";
import { type BenchCase, type CaseRun, type StartedServer, timedMs } from "../benchCase.js";
import type { JsonRecord } from "../lineRpc.js";
import { ownRssMiB, waitedForCoreMs } from "../procfs.js";

export const LISTING = {
  coldFirst: "first page of a server, ms",
  coldSearch: "first search of a server, ms",
  first: "first page, ms",
  allowedFirst: "allowed for the first page, ms",
  later: "later page of 100, ms",
  worst: "worst later page, without waiting for a core, ms",
  worstSeen: "worst later page as the client saw it, ms",
  allowedLater: "allowed for a later page, ms",
  search: "search for one of 100,000, ms",
  folder: "search of a folder that none is in, ms",
  walk: "the same search without an index, ms",
  foreign: "first page after another program added or removed a file, ms",
  rssEarly: "RSS after the first page many times, MiB",
  rssLate: "RSS after all pages, MiB",
  made: "index made, s",
  meanwhile: "worst page meanwhile, ms",
} as const;

const THREADS = 100_000;
const PER_DAY = 250;
const DAY_MS = 24 * 60 * 60_000;
const SAMPLES = 20;
const PAGE = 100;
/** Enough for V8's heap to reach its working size, which does not depend on the lists. */
const WARM_UP_PAGES = 300;
const FOREIGN_CHANGES = 5;
const MAKING_DEADLINE_MS = 5 * 60_000;
const ALLOWED = { first: 20, later: 50 };
const NEEDLE = `thread number ${Math.floor(THREADS / 3)} `;

/** Ours alone: no other server lists threads. */
export const listingCase: BenchCase = {
  name: "listing",
  title: "A list of 100,000 threads",
  once: true,
  async run(run) {
    if (run.target.name !== "ours") return;
    const prepared = { name: "listing", prepare: writeRollouts };
    {
      await using server = await run.startPrepared(prepared);
      await measureMaking(run, server);
    }
    await using server = await run.startPrepared(prepared);
    run.put(LISTING.coldFirst, await timedMs(() => list(server, {})));
    run.put(LISTING.coldSearch, await timedMs(() => list(server, { search: NEEDLE })));
    await measurePages(run, server);
    for (let at = 0; at < SAMPLES; at++) {
      run.put(LISTING.first, await timedMs(() => list(server, {})));
      run.put(LISTING.search, await timedMs(() => list(server, { search: NEEDLE })));
      run.put(LISTING.folder, await timedMs(() => list(server, { cwd: "/repo/none" })));
    }
    run.put(LISTING.allowedFirst, ALLOWED.first);
    run.put(LISTING.allowedLater, ALLOWED.later);
    await measureForeignChange(run, server);
    run.put(LISTING.walk, await timedMs(walk));
  },
};

async function list({ session }: StartedServer, query: JsonRecord): Promise<JsonRecord> {
  if (!session.tool) throw new Error("the server has no tools to list with");
  return session.tool("codex-threads", { action: "list", ...query });
}

/** The first list makes the server build its index; lists are answered meanwhile. */
async function measureMaking(run: CaseRun, server: StartedServer): Promise<void> {
  const sessions = path.join(filledHome, "sessions");
  const months = readdirSync(sessions).flatMap((year) => readdirSync(path.join(sessions, year)));
  const packs = path.join(filledHome, "mcp-server/index");
  rmSync(packs, { recursive: true, force: true });
  const began = performance.now();
  let worst = 0;
  while (!existsSync(packs) || readdirSync(packs).filter((name) => name.endsWith(".pack")).length < months.length) {
    if (performance.now() - began > MAKING_DEADLINE_MS) throw new Error("the index was not built");
    worst = Math.max(worst, await timedMs(() => list(server, {})));
    await sleep(10);
  }
  run.put(LISTING.made, (performance.now() - began) / 1_000);
  run.put(LISTING.meanwhile, worst);
}

async function measurePages(run: CaseRun, server: StartedServer): Promise<void> {
  for (let at = 0; at < WARM_UP_PAGES; at++) await list(server, { limit: PAGE });
  run.put(LISTING.rssEarly, ownRssMiB(server.pid));
  const waitedMs = () => waitedForCoreMs(server.pid) + waitedForCoreMs(process.pid);
  let cursor: unknown;
  let [worst, worstSeen, seen] = [0, 0, 0];
  for (let page = 1; page === 1 || cursor !== undefined; page++) {
    const [began, waited] = [performance.now(), waitedMs()];
    const { threads, nextCursor } = await list(server, { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    const ms = performance.now() - began;
    if (page > 1) {
      run.put(LISTING.later, ms);
      worstSeen = Math.max(worstSeen, ms);
      // CPU time that other processes took from server and client is not the list's.
      worst = Math.max(worst, ms - (waitedMs() - waited));
    }
    seen += Array.isArray(threads) ? threads.length : 0;
    cursor = nextCursor;
  }
  if (seen !== THREADS) throw new Error(`${seen} threads were listed of ${THREADS}`);
  run.put(LISTING.worst, worst);
  run.put(LISTING.worstSeen, worstSeen);
  run.put(LISTING.rssLate, ownRssMiB(server.pid));
}

/** A file that another program wrote is on the next list and found by a search; one that it removed is not. */
async function measureForeignChange(run: CaseRun, server: StartedServer): Promise<void> {
  for (let at = 0; at < FOREIGN_CHANGES; at++) {
    const { file, id, text } = rolloutOf(THREADS + at);
    const first = async () => {
      const began = performance.now();
      const listed = JSON.stringify(await list(server, {}));
      run.put(LISTING.foreign, performance.now() - began);
      return listed.includes(id);
    };
    mkdirSync(path.dirname(path.join(filledHome, file)), { recursive: true });
    await writeFile(path.join(filledHome, file), text, { mode: 0o600 });
    try {
      if (!(await first())) throw new Error("a rollout that another program wrote is not on the list");
      const found = await list(server, { search: `thread number ${THREADS + at} ` });
      if (!JSON.stringify(found).includes(id)) throw new Error("a rollout that another program wrote is not found by a search");
    } finally {
      rmSync(path.join(filledHome, file));
    }
    if (await first()) throw new Error("a rollout that another program removed is still on the list");
  }
}

/** A list without an index. */
async function walk(): Promise<void> {
  const codexHome = filledHome;
  const walked = new RolloutList({ codexHome, packs: new ShelfPacks(path.join(codexHome, "none")), titles: new ThreadTitles(codexHome) });
  let found = 0;
  let cursor: string | undefined;
  do {
    const { threads, nextCursor } = await walked.page({ limit: PAGE, cursor, search: NEEDLE });
    found += threads.length;
    cursor = nextCursor;
  } while (cursor !== undefined);
  if (found !== 1) throw new Error(`the walk found ${found} threads`);
}

const WORDS =
  "fix explain why the flaky test in parser fails under load with several workers then update documentation and changelog".split(" ");

/** The home with the threads; it is kept for all rounds. */
let filledHome = "";

/** One day's files at a time, written in parallel by Node's thread pool. */
async function writeRollouts(codexHome: string): Promise<void> {
  filledHome = codexHome;
  for (let from = 0; from < THREADS; from += PER_DAY) {
    const day = Array.from({ length: PER_DAY }, (_, at) => rolloutOf(from + at));
    mkdirSync(path.dirname(path.join(codexHome, day[0]?.file ?? "")), { recursive: true });
    await Promise.all(day.map(({ file, text }) => writeFile(path.join(codexHome, file), text, { mode: 0o600 })));
  }
}

function rolloutOf(at: number): { readonly file: string; readonly id: string; readonly text: string } {
  const began = new Date(Date.UTC(2024, 0, 1) + Math.floor(at / PER_DAY) * DAY_MS + (at % PER_DAY) * 60_000).toISOString();
  const id = `019bff00-0000-7000-8000-${at.toString(16).padStart(12, "0")}`;
  const name = `rollout-${began.slice(0, 19).replaceAll(":", "-")}-${id}.jsonl`;
  return { file: path.join("sessions", ...began.slice(0, 10).split("-"), name), id, text: linesOf({ id, began, at }) };
}

function linesOf({ id, began, at }: { readonly id: string; readonly began: string; readonly at: number }): string {
  const said = Array.from({ length: 5 + (at % 60) }, (_, word) => WORDS[(at * 7 + word * 13) % WORDS.length]).join(" ");
  const words = `thread number ${at} ${said}`;
  const meta = { id, timestamp: began, cwd: `/repo/${at % 50}`, originator: "codex_cli_rs", cli_version: "0.92.0", source: "cli" };
  const message = { type: "message", role: "user", content: [{ type: "input_text", text: words }] };
  return [
    ["session_meta", { ...meta, model_provider: "openai", base_instructions: { text: "Be brief. ".repeat(100) } }],
    ["response_item", message],
    ["event_msg", { type: "user_message", message: words, images: [] }],
  ]
    .map(([type, payload]) => `${JSON.stringify({ timestamp: began, type, payload })}\n`)
    .join("");
}
