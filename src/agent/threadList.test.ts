import { randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { MemoryCatalog } from "../../test/support/memory/memoryServices.js";
import { MemoryOwners } from "../../test/support/memory/memoryThreads.js";
import { callerNamed } from "../../test/support/memory/ownToolsStage.js";
import { newThreadId, type ThreadId } from "../lib/ids.js";
import { InvalidCursor } from "../threads/errors.js";
import { ThreadAccess } from "./access.js";
import type { Caller } from "./caller.js";
import { ThreadList } from "./threadList.js";

const [ALICE, BOB] = [callerNamed("alice"), callerNamed("bob")];
const signal = new AbortController().signal;

/** Every third thread is Alice's, the others are Bob's. */
class Scene {
  readonly owners = new MemoryOwners();
  readonly catalog = new MemoryCatalog();
  readonly key = randomBytes(32);

  constructor() {
    for (let at = 0; at < 30; at++) {
      const id = newThreadId();
      this.catalog.kept.push(id);
      this.owners.kept.set(id, (at % 3 === 0 ? ALICE : BOB).principal);
    }
  }

  /** The list as another process opens it. */
  list(key: Buffer = this.key): ThreadList {
    const access = new ThreadAccess({ owners: this.owners, isAttended: () => true, sharesUnowned: () => false, report: () => {} });
    return new ThreadList(access, async () => key);
  }

  page(list: ThreadList, caller: Caller, cursor?: string) {
    return list.page(this.catalog, { limit: 4, cursor }, { caller, signal });
  }
}

describe("a caller's list", () => {
  it("has its own threads in order, in pages that every process with the same home can continue", async () => {
    const scene = new Scene();
    const seen: ThreadId[] = [];
    let cursor: string | undefined;
    for (let page = 0; page === 0 || cursor !== undefined; page++) {
      const { threads, nextCursor } = await scene.page(scene.list(), ALICE, cursor);
      seen.push(...threads.map(({ id }) => id));
      cursor = nextCursor;
    }
    expect(seen).toEqual(scene.catalog.kept.filter((_, at) => at % 3 === 0));
  });

  it("is found among many others in pages of any size, and never ends early or twice", async () => {
    const scene = new Scene();
    for (let at = 0; at < 300; at++) {
      const id = newThreadId();
      scene.catalog.kept.splice(7, 0, id);
      if (at % 2 === 0) scene.owners.kept.set(id, BOB.principal);
    }
    for (const limit of [1, 3, 7, 100]) {
      const seen: ThreadId[] = [];
      let [cursor, empty]: [string | undefined, number] = [undefined, 0];
      do {
        const page = await scene.list().page(scene.catalog, { limit, cursor }, { caller: ALICE, signal });
        expect(page.threads.length).toBeLessThanOrEqual(limit);
        if (page.threads.length === 0) empty++;
        seen.push(...page.threads.map(({ id }) => id));
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      expect([limit, seen]).toEqual([limit, scene.catalog.kept.filter((id) => scene.owners.kept.get(id) === ALICE.principal)]);
      expect(empty).toBeLessThanOrEqual(1);
    }
  });

  it("asks the catalog for threads with an owner only, unless the others are shared or the caller sees all", async () => {
    const scene = new Scene();
    await scene.page(scene.list(), ALICE);
    expect(scene.catalog.queries.at(-1)?.among).toEqual(new Set(scene.owners.kept.keys()));
    const shared = new ThreadAccess({ owners: scene.owners, isAttended: () => true, sharesUnowned: () => true, report: () => {} });
    await scene.page(new ThreadList(shared, async () => scene.key), ALICE);
    expect(scene.catalog.queries.at(-1)?.among).toBeUndefined();
    const operator = { ...ALICE, scopes: ["operator"] } as const;
    await scene.list().page(scene.catalog, { limit: 4 }, { caller: operator, signal, watches: true });
    expect(scene.catalog.queries.at(-1)?.among).toBeUndefined();
  });

  it("is not searched for a text that is longer than any title", async () => {
    const scene = new Scene();
    const search = (length: number, caller?: Caller) =>
      scene.list().page(scene.catalog, { limit: 4, search: "x".repeat(length) }, { caller, signal });
    await expect(search(500, ALICE)).resolves.toBeDefined();
    for (const caller of [ALICE, undefined]) await expect(search(501, caller)).rejects.toThrow("`search` has more than 500 characters.");
  });

  it("gives cursors that reveal nothing and are valid for one caller only", async () => {
    const scene = new Scene();
    const { nextCursor = "" } = await scene.page(scene.list(), ALICE);
    await expect(scene.page(scene.list(), BOB, nextCursor)).rejects.toEqual(new InvalidCursor());
    await expect(scene.page(scene.list(randomBytes(32)), ALICE, nextCursor)).rejects.toEqual(new InvalidCursor());
    for (const cursor of ["", "12", nextCursor.slice(1), `${nextCursor}AA`])
      await expect(scene.page(scene.list(), ALICE, cursor)).rejects.toEqual(new InvalidCursor());
  });
});
