import { mkdtempSync, readdirSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { callerNamed, OwnToolsStage } from "../../test/support/memory/ownToolsStage.js";
import { turnIdOf } from "../lib/ids.js";
import { NamedSessionFiles } from "../stores/files/namedSessions.js";
import type { Ask } from "./agent.js";
import { InvalidArguments } from "./errors.js";
import { NamedSessions } from "./namedSessions.js";

const HOUR = 3_600_000;
const LIMIT = 100;
const ALICE: Ask = { caller: callerNamed("alice"), signal: new AbortController().signal };
const BOB: Ask = { caller: callerNamed("bob"), signal: new AbortController().signal };

const homes: string[] = [];
afterEach(() => {
  for (const home of homes.splice(0)) rmSync(home, { recursive: true, force: true });
});

/** Sessions in files, over an agent in memory, with a clock that the test sets. */
class Scene implements AsyncDisposable {
  readonly home = mkdtempSync(path.join(tmpdir(), "named-sessions-"));
  readonly stage = new OwnToolsStage();
  now = 1_000 * HOUR;
  sessions = this.open();

  constructor() {
    homes.push(this.home);
  }

  /** Opens the same sessions as another process would. */
  open(): NamedSessions {
    const { agent } = this.stage;
    const store = new NamedSessionFiles(this.home);
    return new NamedSessions({ agent, store, limit: LIMIT, ttlMs: 24 * HOUR, now: () => this.now, report: () => {} });
  }

  async say(id: string, { ask = ALICE, prompt = "one" }: { readonly ask?: Ask; readonly prompt?: string } = {}): Promise<string> {
    const withoutThread = (recent: readonly { readonly prompt: string }[]) =>
      `after ${recent.map((turn) => turn.prompt).join(", ")}: ${prompt}`;
    const request = { id, prompt, reset: false, asked: {}, forNewThread: {}, turnId: turnIdOf("1"), withoutThread };
    const turn = await this.sessions.turn(ask, request);
    await turn.outcome;
    await this.sessions.settle();
    return turn.threadId;
  }

  async names(ask: Ask = ALICE): Promise<string[]> {
    return (await this.sessions.list(ask)).map(({ id }) => id);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stage[Symbol.asyncDispose]();
  }
}

describe("a session by name", () => {
  it("continues its thread, even in another process, and counts its turns", async () => {
    await using scene = new Scene();
    const threadId = await scene.say("s");
    scene.sessions = scene.open();
    expect(await scene.say("s", { prompt: "two" })).toBe(threadId);
    expect(await scene.sessions.list(ALICE)).toMatchObject([{ id: "s", threadId, turnCount: 2 }]);
  });

  it("belongs to its principal: another principal with the same name has its own", async () => {
    await using scene = new Scene();
    const [alices, bobs] = [await scene.say("s"), await scene.say("s", { ask: BOB })];
    expect(bobs).not.toBe(alices);
    expect([await scene.names(ALICE), await scene.names(BOB)]).toEqual([["s"], ["s"]]);
  });

  it("is forgotten a day after its last use, and then begins again under its name", async () => {
    await using scene = new Scene();
    const threadId = await scene.say("s");
    scene.now += 24 * HOUR;
    expect(await scene.say("s")).toBe(threadId);
    scene.now += 24 * HOUR + 1;
    expect(await scene.names()).toEqual([]);
    expect(await scene.say("s")).not.toBe(threadId);
  });

  it("replaces the least recently used session of the same principal when there are too many", async () => {
    await using scene = new Scene();
    await scene.say("bobs", { ask: BOB });
    for (let count = 0; count < LIMIT; count++) {
      scene.now++;
      await scene.say(`s${count}`);
    }
    scene.now++;
    await scene.say("s0");
    scene.now++;
    await scene.say("one-more");
    const names = await scene.names();
    expect([names.length, names.includes("s0"), names.includes("s1"), names[0]]).toEqual([LIMIT, true, false, "one-more"]);
    expect(await scene.names(BOB)).toEqual(["bobs"]);
  });

  it("whose file is incomplete begins again", async () => {
    await using scene = new Scene();
    const threadId = await scene.say("s");
    const folder = path.join(scene.home, "mcp-server", "sessions");
    const [file = ""] = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".json"));
    truncateSync(path.join(folder, file), 20);
    expect(await scene.say("s")).not.toBe(threadId);
    expect(await scene.names()).toEqual(["s"]);
  });

  it.each(["", "a".repeat(257), "../up", "a b", "ä", "a\0b", "a/b"])("cannot be called %j", async (id) => {
    await using scene = new Scene();
    await expect(scene.say(id)).rejects.toThrow(InvalidArguments);
    expect(readdirSync(scene.home)).toEqual([]);
  });
});
