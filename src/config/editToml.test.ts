import { parse } from "smol-toml";
import { describe, expect, it } from "vitest";
import { ConfigNotEditable, withTexts } from "./editToml.js";

describe("a key at the root", () => {
  it.each([
    ["an empty file", "", 'model = "m"\n'],
    ["comments alone", "# mine\n", 'model = "m"\n\n# mine\n'],
    ["its value replaced, the comment kept", 'model = "old" # why\nx = 1\n', 'model = "m" # why\nx = 1\n'],
    [
      "after the last key, before the tables",
      'a = 1 # one\n\n# about b\n[b]\nmodel = "other"\n',
      'a = 1 # one\nmodel = "m"\n\n# about b\n[b]\nmodel = "other"\n',
    ],
    ["a file without an end of line", "a = 1", 'a = 1\nmodel = "m"\n'],
    ["lines of Windows", "a = 1\r\n[b]\r\n", 'a = 1\r\nmodel = "m"\r\n[b]\r\n'],
    ["before the tables, where no key is", "# mine\n[b]\nx = 1\n", 'model = "m"\n\n# mine\n[b]\nx = 1\n'],
    ["before the tables, without an end of line", "[b]\nc.d = 1", 'model = "m"\n\n[b]\nc.d = 1'],
    ["behind a byte order mark", '\uFEFFmodel = "old"\n', '\uFEFFmodel = "m"\n'],
    ["behind a byte order mark, a new key", "\uFEFF[b]\nx = 1\n", '\uFEFFmodel = "m"\n\n[b]\nx = 1\n'],
    ["a quoted key", "\"model\" = 'old'\n", '"model" = "m"\n'],
    [
      "behind a list over several lines",
      'a = [\n  "x", # ] no end\n  "]",\n]\n[t]\n',
      'a = [\n  "x", # ] no end\n  "]",\n]\nmodel = "m"\n[t]\n',
    ],
    ["behind a long text that looks like keys", 'a = """\nmodel = "no"\n[t]\n"""\n', 'a = """\nmodel = "no"\n[t]\n"""\nmodel = "m"\n'],
  ])("%s", (_, before, after) => {
    expect(withTexts(before, [], { model: "m" })).toBe(after);
  });

  it("is removed with its line, and nothing else is", () => {
    expect(withTexts('# head\nmodel = "m" # mine\n\n[t]\nmodel = "stays"\n', [], { model: undefined })).toBe(
      '# head\n\n[t]\nmodel = "stays"\n',
    );
    expect(withTexts("", [], { model: undefined })).toBe("");
  });
});

describe("a key of a profile", () => {
  it.each([
    ["a new table at the end", "a = 1\n", 'a = 1\n\n[profiles.fast]\nmodel = "m"\n'],
    ["in its table", "[profiles.fast]\n# why\nx = 1\n\n[other]\ny = 2\n", '[profiles.fast]\n# why\nx = 1\nmodel = "m"\n\n[other]\ny = 2\n'],
    [
      "beside a table below it",
      "[profiles.fast.features]\nx = true\n",
      '[profiles.fast.features]\nx = true\n\n[profiles.fast]\nmodel = "m"\n',
    ],
    ["in a table without keys", "[profiles.fast]\n[other]\n", '[profiles.fast]\nmodel = "m"\n[other]\n'],
    ["beside dotted keys", "profiles.fast.x = 1\n[other]\n", 'profiles.fast.x = 1\nprofiles.fast.model = "m"\n[other]\n'],
    ["beside dotted keys of the table above", "[profiles]\nfast.x = 1\n", '[profiles]\nfast.x = 1\nfast.model = "m"\n'],
  ])("%s", (_, before, after) => {
    expect(withTexts(before, ["profiles", "fast"], { model: "m" })).toBe(after);
  });

  it("quotes names that need it", () => {
    expect(withTexts("", ["profiles", "a b"], { model: 'q"\\' })).toBe('[profiles."a b"]\nmodel = "q\\"\\\\"\n');
  });

  it("does not change a value written as a whole", () => {
    expect(() => withTexts('profiles = { fast = { model = "x" } }\n', ["profiles", "fast"], { model: "m" })).toThrow(ConfigNotEditable);
  });
});

const KEYS = ["model", "a", "b-c", '"x y"', "d.e"];
const VALUES = ["1", '"s # no"', "'l'", "[1,\n 2]", '["]"]', "true", '"""\n[x]\nmodel = 1\n"""', "{ p = 1 }", "2020-01-01"];
const OTHERS = ["", "# comment", "[t]", "[profiles.fast]", "[[list]]", "[profiles]", "[t.u]"];

/** Generated documents, the same ones in every run. */
function* inventedDocuments(count: number): Generator<string[]> {
  let seed = 42;
  const pick = (from: readonly string[]) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return from[Math.floor((seed / 2_147_483_648) * from.length)] ?? "";
  };
  for (let document = 0; document < count; document++)
    yield Array.from({ length: document % 9 }, () =>
      pick(["key", "other"]) === "key" ? `${pick(KEYS)} = ${pick(VALUES)} # note` : pick(OTHERS),
    );
}

function isToml(text: string): boolean {
  try {
    parse(text);
    return true;
  } catch {
    return false;
  }
}

it("changes only the given values, or nothing at all, in any document", () => {
  let edited = 0;
  for (const lines of inventedDocuments(500)) {
    const before = lines.join("\n");
    if (!isToml(before)) continue;
    for (const table of [[], ["profiles", "fast"]])
      for (const model of ["new", undefined]) {
        try {
          const after = withTexts(before, table, { model });
          // Every line about another key is unchanged.
          for (const line of lines.filter((one) => !one.includes("model"))) expect(after).toContain(line);
          edited++;
        } catch (error) {
          expect(error).toBeInstanceOf(ConfigNotEditable);
        }
      }
  }
  expect(edited).toBeGreaterThan(100);
});
