import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ownRun, runName } from "../../platform/processes.js";
import { Placeholders, sweepPlaceholders } from "./placeholders.js";

const HOUR_MS = 3_600_000;

let top: string;
let parent: string;
let claims: string;
let folder: string;
let opened: number;
beforeEach(() => {
  top = realpathSync(mkdtempSync(path.join(tmpdir(), "placeholders-")));
  parent = path.join(top, "workspace");
  claims = path.join(top, "codex-home/mcp-server/placeholders");
  mkdirSync(parent);
  opened = openSync(parent, "r");
  folder = path.join(parent, ".git");
});
afterEach(() => {
  vi.useRealTimers();
  closeSync(opened);
  rmSync(top, { recursive: true, force: true });
});

const place = () => ({ folder: opened, name: ".git" });
const filesOfClaims = () => (existsSync(claims) ? readdirSync(claims) : []);
const isSpare = (name: string) => name.startsWith("spare.");
const claimNames = () => filesOfClaims().filter((name) => !isSpare(name));
const spareNames = () => filesOfClaims().filter(isSpare);

it("a missing name has a placeholder while it is held: an empty folder, and a claim elsewhere", () => {
  const held = new Placeholders(claims).hold(place());
  const seen = [readdirSync(folder), claimNames().length];
  held?.giveUp();
  expect([seen, readdirSync(parent), claimNames()]).toEqual([[[], 1], [], []]);
});

it("the file of a withdrawn claim is made unreadable, becomes the next claim, and is removed in the end", () => {
  const placeholders = new Placeholders(claims);
  placeholders.hold(place())?.giveUp();
  const [spare = ""] = spareNames();
  const { ino } = statSync(path.join(claims, spare));
  const kept = readFileSync(path.join(claims, spare), "utf8");
  const held = placeholders.hold(place());
  const [claim = ""] = claimNames();
  expect([kept.slice(0, 7), spareNames(), statSync(path.join(claims, claim)).ino]).toEqual(['-"path"', [], ino]);
  expect(JSON.parse(readFileSync(path.join(claims, claim), "utf8"))).toMatchObject({ path: folder });
  held?.giveUp();
  placeholders.close();
  expect(filesOfClaims()).toEqual([]);
});

it("a shorter note takes the place of a longer one", () => {
  const placeholders = new Placeholders(claims);
  placeholders.hold({ folder: opened, name: ".a-long-name" })?.giveUp();
  const held = placeholders.hold(place());
  const [claim = ""] = claimNames();
  expect(JSON.parse(readFileSync(path.join(claims, claim), "utf8"))).toMatchObject({ path: folder });
  held?.giveUp();
});

it("a spare file that another server removed is replaced by a new file", () => {
  const placeholders = new Placeholders(claims);
  placeholders.hold(place())?.giveUp();
  for (const name of spareNames()) rmSync(path.join(claims, name));
  const held = placeholders.hold(place());
  expect([existsSync(folder), claimNames().length]).toEqual([true, 1]);
  held?.giveUp();
});

it("the spare file of a killed server is removed, and nothing with it", () => {
  const { place: machine, pid, startTime } = ownRun();
  mkdirSync(claims, { recursive: true });
  const note = JSON.stringify({ path: folder, parent: fstatSync(opened).ino, since: Date.now() });
  writeFileSync(path.join(claims, `spare.${machine}.${pid}-${Number(startTime) - 1}.00000000-1`), note.replace("{", "-"));
  mkdirSync(folder);
  sweepPlaceholders(claims);
  expect([filesOfClaims(), existsSync(folder)]).toEqual([[], true]);
});

it("the last of several users removes it, in this or another server", () => {
  const [one, other] = [new Placeholders(claims), new Placeholders(claims)];
  const holds = [one.hold(place()), one.hold(place()), other.hold(place())];
  const seen = holds.map((held) => {
    held?.giveUp();
    return existsSync(folder);
  });
  expect([seen, claimNames()]).toEqual([[true, true, false], []]);
});

it.each(["an empty folder", "a folder with files", "a folder with folders", "a file"])("%s of the user is unchanged", (kind) => {
  if (kind === "a file") writeFileSync(folder, "gitdir: elsewhere");
  else mkdirSync(folder);
  if (kind === "a folder with files") writeFileSync(path.join(folder, "HEAD"), "");
  if (kind === "a folder with folders") mkdirSync(path.join(folder, "refs"));
  const placeholders = new Placeholders(claims);
  expect([placeholders.hold(place()), existsSync(folder), claimNames()]).toEqual([undefined, true, []]);
  placeholders.close();
  sweepPlaceholders(claims);
  expect(existsSync(folder)).toBe(true);
});

it("files that the user adds meanwhile stay", () => {
  const held = new Placeholders(claims).hold(place());
  writeFileSync(path.join(folder, "HEAD"), "");
  held?.giveUp();
  expect(readdirSync(folder)).toEqual(["HEAD"]);
});

it("a folder that was removed stays closed after the failure", () => {
  rmdirSync(parent);
  const before = readdirSync("/proc/self/fd");
  expect(() => new Placeholders(claims).hold(place())).toThrow("ENOENT");
  expect(readdirSync("/proc/self/fd")).toEqual(before);
});

it("a file that the user puts in its place stays", () => {
  const held = new Placeholders(claims).hold(place());
  rmdirSync(folder);
  // The new folder probably gets the inode of the removed one.
  mkdirSync(folder);
  expect(held?.isIntact()).toBe(false);
  held?.giveUp();
  expect(existsSync(folder)).toBe(true);
});

it("it is created and removed in the opened folder, even if that was moved", () => {
  const moved = `${parent}-moved`;
  renameSync(parent, moved);
  const held = new Placeholders(claims).hold(place());
  renameSync(moved, parent);
  const wasThere = existsSync(folder);
  held?.giveUp();
  expect([wasThere, existsSync(folder)]).toEqual([true, false]);
});

it("one that lingers is reused, until its time is over or the server ends", () => {
  vi.useFakeTimers();
  const placeholders = new Placeholders(claims);
  const seen: boolean[] = [];
  for (const waitMs of [999, 999, 1_000]) {
    placeholders.hold(place(), { afterMs: 1_000 })?.giveUp();
    vi.advanceTimersByTime(waitMs);
    seen.push(existsSync(folder));
  }
  placeholders.hold(place(), { afterMs: 1_000 })?.giveUp();
  placeholders.close();
  expect([...seen, existsSync(folder)]).toEqual([true, true, false, false]);
});

it("one that was removed is created again for the next command", () => {
  const placeholders = new Placeholders(claims);
  const first = placeholders.hold(place());
  rmSync(folder, { recursive: true });
  const second = placeholders.hold(place());
  const wasThere = existsSync(folder);
  for (const held of [first, second]) held?.giveUp();
  expect([wasThere, existsSync(folder)]).toEqual([true, false]);
});

it("closing removes placeholders that are still in use", () => {
  const placeholders = new Placeholders(claims);
  const held = placeholders.hold(place());
  placeholders.close();
  expect([existsSync(folder), claimNames()]).toEqual([false, []]);
  held?.giveUp();
});

it("it also protects without a folder for claims", () => {
  writeFileSync(path.join(top, "codex-home"), "a file where a folder must be");
  const held = new Placeholders(claims).hold(place());
  const wasThere = existsSync(folder);
  held?.giveUp();
  expect([wasThere, existsSync(folder)]).toEqual([true, false]);
});

it("a folder where nothing can be created needs no placeholder", () => {
  const system = openSync("/sys", "r");
  expect([new Placeholders(claims).hold({ folder: system, name: ".git" }), claimNames()]).toEqual([undefined, []]);
  closeSync(system);
});

describe("leftovers of a killed server", () => {
  /** The state that a killed process leaves: a claim in the name of an ended process. */
  function leave(owner: string, { ageMs = 0 } = {}): void {
    new Placeholders(claims).hold(place());
    const name = claimNames().find((each) => each.includes(runName(ownRun()))) ?? "";
    const left = path.join(claims, name.replace(runName(ownRun()), owner));
    renameSync(path.join(claims, name), left);
    const then = new Date(Date.now() - ageMs);
    utimesSync(left, then, then);
  }
  const dead = () => `${ownRun().place}.4194304-1`;
  const ELSEWHERE = "another-container-4026532000.7-1";

  it("is taken over by the next command there", () => {
    leave(dead());
    const held = new Placeholders(claims).hold(place());
    expect(held).toBeDefined();
    held?.giveUp();
    expect(existsSync(folder)).toBe(false);
  });

  it("is swept, and so is its claim", () => {
    leave(dead());
    sweepPlaceholders(claims);
    expect([readdirSync(parent), claimNames()]).toEqual([[], []]);
  });

  it("is swept in another PID namespace once its claim has lapsed", () => {
    leave(ELSEWHERE, { ageMs: 60_000 });
    sweepPlaceholders(claims);
    const meanwhile = [existsSync(folder), claimNames().length];
    const then = new Date(Date.now() - 180_000);
    for (const name of claimNames()) utimesSync(path.join(claims, name), then, then);
    sweepPlaceholders(claims);
    expect([meanwhile, existsSync(folder), claimNames()]).toEqual([[true, 1], false, []]);
  });

  it("stays while another server uses it", () => {
    leave(dead());
    const held = new Placeholders(claims).hold(place());
    sweepPlaceholders(claims);
    const wasThere = existsSync(folder);
    held?.giveUp();
    sweepPlaceholders(claims);
    expect([wasThere, existsSync(folder), claimNames()]).toEqual([true, false, []]);
  });

  it.each(["filled", "filled and emptied again", "replaced"])("belongs to the user if it was %s since", async (what) => {
    leave(dead());
    const [name = ""] = claimNames();
    // According to its claim, the folder was created three seconds ago.
    const note = JSON.parse(readFileSync(path.join(claims, name), "utf8"));
    writeFileSync(path.join(claims, name), JSON.stringify({ ...note, since: note.since - 3_000 }));
    if (what === "replaced") rmdirSync(folder);
    if (what === "replaced") mkdirSync(folder);
    else writeFileSync(path.join(folder, "HEAD"), "");
    if (what === "filled and emptied again") rmSync(path.join(folder, "HEAD"));
    sweepPlaceholders(claims);
    expect([existsSync(folder), claimNames()]).toEqual([true, []]);
  });

  it("in a folder that is not available is kept for a month", () => {
    leave(dead());
    renameSync(parent, `${parent}-away`);
    sweepPlaceholders(claims);
    const meanwhile = claimNames().length;
    const [name = ""] = claimNames();
    const then = new Date(Date.now() - 31 * 24 * HOUR_MS);
    utimesSync(path.join(claims, name), then, then);
    sweepPlaceholders(claims);
    expect([meanwhile, claimNames(), existsSync(`${parent}-away/.git`)]).toEqual([1, [], true]);
  });

  it("are swept although other files lie beside the claims", () => {
    mkdirSync(claims, { recursive: true });
    for (const name of ["nonsense", `0123456789abcdef.${dead()}.00000000`]) writeFileSync(path.join(claims, name), "nonsense");
    leave(dead());
    sweepPlaceholders(claims);
    expect([existsSync(folder), claimNames()]).toEqual([false, ["nonsense"]]);
  });
});
