import { describe, expect, it } from "vitest";
import { SeededRandom } from "../../test/support/patch/random.js";
import { type Release, Shares, surplusOf } from "./shares.js";

/** Takes places for one principal until one is refused. */
function takeAll(shares: Shares, principal: string): Release[] {
  const places: Release[] = [];
  for (let place = shares.take(principal); place; place = shares.take(principal)) places.push(place);
  return places;
}

describe("a principal that is alone", () => {
  it("may have the whole limit", () => {
    const had = [1, 2, 3, 8, 100, 1_000].map((limit) => takeAll(new Shares({ limit }), "a").length);
    expect(had).toEqual([1, 2, 3, 8, 100, 1_000]);
  });

  it("has no more than the share of one principal", () => {
    const shares = new Shares({ limit: 100, perPrincipal: 16 });
    expect(takeAll(shares, "a")).toHaveLength(16);
    expect(takeAll(shares, "b")).toHaveLength(16);
  });
});

describe("principals that arrive when another one has taken its whole share", () => {
  it("are served at once, even if the second needs more than one place", () => {
    const shares = new Shares({ limit: 100 });
    const had = [..."abcdefgh"].map((principal) => takeAll(shares, principal).length);
    expect(had).toEqual([100, 6, 1, 1, 1, 1, 1, 1]);
    expect(shares.take("i")).toBeUndefined();
    expect(shares.taken).toBe(112);
  });

  it("get released places before a principal that has more than its share", () => {
    const shares = new Shares({ limit: 100 });
    const ofFirst = takeAll(shares, "first");
    takeAll(shares, "second");
    while (shares.heldBy("first") > 56) {
      ofFirst.pop()?.();
      // The first principal always asks before the second.
      expect(shares.take("first")).toBeUndefined();
      expect(shares.take("second")).toBeDefined();
    }
    expect([shares.heldBy("first"), shares.heldBy("second")]).toEqual([56, 50]);
  });
});

it("counts a place once, however often it is released", () => {
  const shares = new Shares({ limit: 8 });
  const [place] = [shares.take("a"), shares.take("a")];
  place?.();
  place?.();
  expect([shares.heldBy("a"), shares.taken]).toEqual([1, 1]);
});

describe("for all sequences of requests", () => {
  const principals = [..."abcdef"];

  it.each(Array.from({ length: 50 }, (_, seed) => seed + 1))("the limits hold and newcomers are served, seed %i", (seed) => {
    const random = new SeededRandom(seed);
    const limit = 1 + random.below(40);
    const shares = new Shares({ limit });
    const reserve = Math.max(1, Math.floor(limit / 8));
    const all = limit + reserve;
    const places = new Map(principals.map((principal) => [principal, [] as Release[]]));
    for (let step = 0; step < 300; step++) {
      const principal = random.pick(principals);
      const own = places.get(principal) ?? [];
      const free = all - shares.taken;
      const holders = principals.filter((other) => shares.heldBy(other) > 0).length;
      if (random.below(3) === 0) own.pop()?.();
      else {
        const may = shares.hasPlaceFor(principal);
        const place = shares.take(principal);
        expect(place !== undefined).toBe(may);
        // A principal without a place is refused only if none is free, and no principal is refused while more than the reserve is free.
        if (own.length === 0 || free > reserve) expect(may).toBe(free > 0);
        // A principal with its full share gets nothing from the reserve.
        if (own.length >= all / Math.max(2, holders) && free <= reserve) expect(may).toBe(false);
        if (place) own.push(place);
      }
      expect(principals.map((each) => shares.heldBy(each))).toEqual(principals.map((each) => places.get(each)?.length));
      expect(shares.taken).toBe(principals.reduce((sum, each) => sum + shares.heldBy(each), 0));
      expect(shares.taken).toBeLessThanOrEqual(all);
    }
    for (const own of places.values()) for (const place of own) place();
    expect(shares.taken).toBe(0);
  });
});

describe("of entries in a memory that several owners share", () => {
  const ownerOf = (entry: string) => entry[0];

  it("none is surplus while there is room", () => {
    expect(surplusOf(["a1", "b1", "a2"], 3, { ownerOf })).toEqual([]);
  });

  it("the oldest of a lone owner are", () => {
    expect(surplusOf(["a1", "a2", "a3", "a4"], 2, { ownerOf })).toEqual(["a1", "a2"]);
  });

  it("those of the owner with the most are, however old the others' are", () => {
    expect(surplusOf(["b1", "a1", "a2", "a3", "c1", "a4"], 4, { ownerOf })).toEqual(["a1", "a2"]);
  });

  it("those of the owner whose entries weigh most are", () => {
    const weightOf = (entry: string) => entry.length;
    expect(surplusOf(["a.........", "b1", "b2", "b3"], 8, { ownerOf, weightOf })).toEqual(["a........."]);
    expect(surplusOf(["a", "b1", "b2", "b3"], 5, { ownerOf, weightOf })).toEqual(["b1"]);
  });
});
