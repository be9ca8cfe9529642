import type { SeededRandom } from "../support/patch/random.js";

/** Values that often cause errors in programs. */
const PIECES = [
  "",
  " ",
  "\0",
  "\n",
  "\r\n",
  "\t",
  "\u001b[2J",
  "\u202e",
  "\ufeff",
  "\u2028",
  "é",
  "e\u0301",
  "\ud83d",
  "\ud83d\ude00",
  "ß",
  "İ",
  "..",
  "../../..",
  "/",
  "//",
  "/dev/null",
  "/proc/self/fd/0",
  "~",
  "$HOME",
  "`id`",
  "$(id)",
  "'",
  '"',
  "\\",
  "%00",
  "%s%n",
  "{}",
  "[]",
  "null",
  "true",
  "NaN",
  "-1",
  "0x10",
  "1e309",
  "99999999999999999999",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "*",
  "a.b.c",
  "=",
  ":",
  ";",
  ",",
  "#",
  "<script>",
  "2026-07-28",
  "00000000-0000-0000-0000-000000000000",
] as const;

const NUMBERS = [0, -0, 1, -1, 2, 0.5, -0.5, 1e21, -1e21, 2 ** 31, 2 ** 32, 2 ** 53, Number.MAX_VALUE, 5e-324] as const;
const DEEPEST = 4;
const LONG_PIECE = 20_000;

export function strangeText(random: SeededRandom): string {
  if (random.chance(0.03))
    return random
      .pick(PIECES)
      .repeat(1 + random.below(200))
      .slice(0, LONG_PIECE);
  return random.several(0, 4, () => random.pick(PIECES)).join("");
}

/** Any JSON value; most are small. */
export function strangeValue(random: SeededRandom, depth = 0): unknown {
  const kind = random.below(depth >= DEEPEST ? 4 : 7);
  switch (kind) {
    case 0:
      return random.pick([null, true, false]);
    case 1:
      return random.pick(NUMBERS);
    case 2:
    case 3:
      return strangeText(random);
    case 4:
      return random.several(0, 4, () => strangeValue(random, depth + 1));
    case 5:
      return Object.fromEntries(random.several(0, 4, () => [strangeText(random), strangeValue(random, depth + 1)]));
    default:
      return nested(random, random.below(60));
  }
}

function nested(random: SeededRandom, levels: number): unknown {
  let value: unknown = strangeText(random);
  for (let level = 0; level < levels; level++) value = random.chance(0.5) ? [value] : { a: value };
  return value;
}

/** The same object with one member changed, added, duplicated or removed. */
export function bentObject(random: SeededRandom, object: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const keys = Object.keys(object);
  const key = keys.length === 0 ? "x" : random.pick(keys);
  const bent = { ...object };
  const inner = bent[key];
  switch (random.below(5)) {
    case 0:
      delete bent[key];
      return bent;
    case 1:
      return { ...bent, [strangeText(random)]: strangeValue(random) };
    case 2:
      if (typeof inner === "object" && inner !== null && !Array.isArray(inner))
        return { ...bent, [key]: bentObject(random, inner as Record<string, unknown>) };
      return { ...bent, [key]: strangeValue(random) };
    case 3:
      return { ...bent, [key]: typeof inner === "string" ? bentText(random, inner) : [inner] };
    default:
      return { ...bent, [key]: strangeValue(random) };
  }
}

/** The same text with parts removed, duplicated, moved, replaced or inserted. */
export function bentText(random: SeededRandom, text: string, extra: readonly string[] = []): string {
  let bent = text;
  for (let changes = 1 + random.below(4); changes > 0; changes--) {
    const from = random.below(bent.length + 1);
    const to = Math.min(bent.length, from + random.below(20));
    const piece = bent.slice(from, to);
    const put = random.pick([
      () => "",
      () => piece + piece,
      () => random.pick([...PIECES, ...extra]),
      () => piece.toUpperCase(),
      () => piece.repeat(1 + random.below(50)).slice(0, LONG_PIECE),
      () => [...piece].reverse().join(""),
    ])();
    bent = random.chance(0.05) ? bent.slice(0, from) : bent.slice(0, from) + put + bent.slice(to);
  }
  return bent;
}

export function strangeBytes(random: SeededRandom, most: number): Buffer {
  return Buffer.from(random.several(0, most, () => random.below(256)));
}
