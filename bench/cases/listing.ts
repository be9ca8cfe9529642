import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { RolloutList } from "../../src/stores/files/threads/rolloutList.js";
import { ShelfPacks } from "../../src/stores/files/threads/shelfPacks.js";
import { ThreadTitles } from "../../src/stores/files/threads/threadTitles.js";
import { type BenchCase, type CaseRun, type StartedServer, timedMs } from "../benchCase.js";
import type { JsonRecord } from "../lineRpc.js";
import { ownRssMiB } from "../procfs.js";

export const LISTING = {
  coldFirst: "first page of a server, ms",
  coldSearch: "first search of a server, ms",
  first: "first page, ms",
  allowedFirst: "allowed for the first page, ms",
  later: "later page of 100, ms",
  worst: "worst later page, ms",
  allowedLater: "allowed for a later page, ms",
  search: "search for one of 100,000, ms",
  folder: "search of a folder that none is in, ms",
  walk: "the same search without an index, ms",
  rssEarly: "RSS after 100 pages, MiB",
  rssLate: "RSS after all pages, MiB",
  made: "index made, s",
  meanwhile: "worst page meanwhile, ms",
} as const;

const THREADS = 100_000;
const PER_DAY = 250;
const DAY_MS = 24 * 60 * 60_000;
const SAMPLES = 20;
const PAGE = 100;
const EARLY_PAGES = 100;
const MAKING_DEADLINE_MS = 5 * 60_000;
const ALLOWED = { first: 20, later: 50 };
const NEEDLE = `thread number ${Math.floor(THREADS / 3)} `;

/** Ours alone: no other server lists threads. */
export const listingCase: BenchCase = {
  name: "listing",
  title: "A list of 100,000 threads",
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
    run.put(LISTING.walk, await timedMs(walk));
  },
};

async function list({ session }: StartedServer, query: JsonRecord): Promise<JsonRecord> {
  if (!session.tool) throw new Error("the server has no tools to list with");
  return session.tool("codex-threads", { action: "list", ...query });
}

/** The first list of all makes the server make its index; whoever lists meanwhile is answered. */
async function measureMaking(run: CaseRun, server: StartedServer): Promise<void> {
  const sessions = path.join(filledHome, "sessions");
  const months = readdirSync(sessions).flatMap((year) => readdirSync(path.join(sessions, year)));
  const packs = path.join(filledHome, "mcp-server/index");
  rmSync(packs, { recursive: true, force: true });
  const began = performance.now();
  let worst = 0;
  while (!existsSync(packs) || readdirSync(packs).filter((name) => name.endsWith(".pack")).length < months.length) {
    if (performance.now() - began > MAKING_DEADLINE_MS) throw new Error("the index was not made");
    worst = Math.max(worst, await timedMs(() => list(server, {})));
    await sleep(10);
  }
  run.put(LISTING.made, (performance.now() - began) / 1_000);
  run.put(LISTING.meanwhile, worst);
}

async function measurePages(run: CaseRun, server: StartedServer): Promise<void> {
  let cursor: unknown;
  let [worst, seen] = [0, 0];
  for (let page = 1; page === 1 || cursor !== undefined; page++) {
    const began = performance.now();
    const { threads, nextCursor } = await list(server, { limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    const ms = performance.now() - began;
    if (page > 1) run.put(LISTING.later, ms);
    if (page > 1) worst = Math.max(worst, ms);
    if (page === EARLY_PAGES) run.put(LISTING.rssEarly, ownRssMiB(server.pid));
    seen += Array.isArray(threads) ? threads.length : 0;
    cursor = nextCursor;
  }
  if (seen !== THREADS) throw new Error(`${seen} threads were listed of ${THREADS}`);
  run.put(LISTING.worst, worst);
  run.put(LISTING.rssLate, ownRssMiB(server.pid));
}

/** What lists do that have no index. */
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

/** The one home that has them; it stays for all rounds. */
let filledHome = "";

function writeRollouts(codexHome: string): void {
  filledHome = codexHome;
  for (let at = 0; at < THREADS; at++) {
    const began = new Date(Date.UTC(2024, 0, 1) + Math.floor(at / PER_DAY) * DAY_MS + (at % PER_DAY) * 60_000).toISOString();
    const folder = path.join(codexHome, "sessions", ...began.slice(0, 10).split("-"));
    if (at % PER_DAY === 0) mkdirSync(folder, { recursive: true });
    const id = `019bff00-0000-7000-8000-${at.toString(16).padStart(12, "0")}`;
    const name = `rollout-${began.slice(0, 19).replaceAll(":", "-")}-${id}.jsonl`;
    writeFileSync(path.join(folder, name), rollout({ id, began, at }), { mode: 0o600 });
  }
}

function rollout({ id, began, at }: { readonly id: string; readonly began: string; readonly at: number }): string {
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
