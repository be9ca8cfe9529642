import { expect, it } from "vitest";
import { addSection, patchOf, updateSection } from "../../../../test/support/patch/patchText.js";
import { SeededRandom } from "../../../../test/support/patch/random.js";
import { parsePatch } from "../../../exec/patch/parse.js";
import { PATCH_GRAMMAR } from "./declarations.js";

it("the grammar accepts well-formed patches only, and the parser accepts everything that the grammar accepts", () => {
  const accepted = new RegExp(`^${expression("start", rulesOf(PATCH_GRAMMAR))}$`);
  const wellFormed = [
    patchOf("*** Delete File: a"),
    `${patchOf("*** Add File: a b", "+x", "+")}\n`,
    patchOf("*** Update File: u", "*** Move to: v", "-a", "+b", "@@ where", " c", "-", "*** End of File", "*** Delete File: d"),
    ...randomPatches(new SeededRandom(7), 200),
  ];
  const refused = [
    patchOf(),
    patchOf("*** Add File: a"),
    patchOf("*** Add File: "),
    patchOf("*** Update File: u", "*** Move to: v"),
    patchOf("*** Update File: u", "@@", "@@", "-a"),
    patchOf("*** Update File: u", "-a", "", "-b"),
    patchOf("*** Update File: u", "@@ ", "-a"),
    ` ${patchOf("*** Delete File: a")}`,
  ];
  expect(wellFormed.filter((text) => !accepted.test(text))).toEqual([]);
  for (const text of wellFormed) expect(() => parsePatch(text)).not.toThrow();
  expect(refused.filter((text) => accepted.test(text))).toEqual([]);
});

function randomPatches(random: SeededRandom, count: number): string[] {
  const lines = () => random.several(1, 8, () => random.pick(["a", "b", "", " c", "+", "@@", "*** End Patch"]));
  return Array.from({ length: count }, () => {
    const update = updateSection("u", lines(), lines());
    return patchOf(addSection("n", lines()), ...(update === undefined ? [] : [update]));
  });
}

function rulesOf(grammar: string): ReadonlyMap<string, string> {
  const rules = [...grammar.matchAll(/^(\w+): (.*)$/gm)].map(([, name, body]) => [name ?? "", body ?? ""] as const);
  return new Map([...rules, ["LF", "/\\n/"]]);
}

/** The grammar is not recursive, so every rule can be written as a regular expression. */
function expression(rule: string, rules: ReadonlyMap<string, string>): string {
  const body = rules.get(rule);
  if (body === undefined) throw new Error(`the grammar has no rule ${rule}`);
  const tokens = body.matchAll(/"([^"]*)"|\/((?:[^/\\]|\\.)+)\/|(\w+)|([()|?*+])/g);
  const parts = [...tokens].map(([, text, pattern, name, operator]) => {
    if (text !== undefined) return text.replaceAll(/[*+?()|@]/g, "\\$&");
    return pattern ?? operator ?? expression(name ?? "", rules);
  });
  return `(?:${parts.join("")})`;
}
