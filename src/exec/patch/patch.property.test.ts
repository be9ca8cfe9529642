import { describe, expect, it } from "vitest";
import { addSection, patchOf, updateSection } from "../../../test/support/patch/patchText.js";
import { SeededRandom } from "../../../test/support/patch/random.js";
import { Tree } from "../../../test/support/patch/tree.js";
import { applyPlan } from "./apply.js";
import { PatchInvalid } from "./errors.js";
import { parsePatch } from "./parse.js";
import { rewrite } from "./rewrite.js";

const TEXTS = ["a", "b", "c", "d", "e", "", "  a", "a  ", "\tb", "}", "+", "-x", "@@", "@@ a", "*** End Patch", "“q”", "x — y", "x - y"];
const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8];

function randomLines(random: SeededRandom): string[] {
  return random.several(0, 40, () => random.pick(TEXTS));
}

/** The lines after a few random edits. */
function edited(lines: readonly string[], random: SeededRandom): string[] {
  const result = [...lines];
  for (let edits = 1 + random.below(6); edits > 0; edits--) {
    result.splice(random.below(result.length + 1), random.below(4), ...random.several(0, 3, () => random.pick(TEXTS)));
  }
  return result;
}

function joined(lines: readonly string[], lineEnd: string): string {
  return lines.map((line) => `${line}${lineEnd}`).join("");
}

describe("any edit of any file", () => {
  it.each(SEEDS)("written as a patch gives the edited file (seed %i)", (seed) => {
    const random = new SeededRandom(seed);
    for (let round = 0; round < 300; round++) {
      const before = randomLines(random);
      const after = edited(before, random);
      const lineEnd = random.pick(["\n", "\r\n"]);
      const section = updateSection("f", before, after);
      const [operation] = section === undefined ? [] : parsePatch(patchOf(section)).operations;
      if (operation?.kind !== "update") continue;
      const text = joined(before, before.length === 0 ? "\n" : lineEnd);
      const shortened = before.at(-1) !== "" && before.length > 1 && random.chance(0.2) ? text.slice(0, -lineEnd.length) : text;
      expect(rewrite(shortened, operation.chunks, { path: "f" })).toBe(joined(after, before.length === 0 ? "\n" : lineEnd));
    }
  });
});

describe("any patch over several files", () => {
  it.each(SEEDS)("gives all of the wanted files, or none (seed %i)", async (seed) => {
    const random = new SeededRandom(1000 + seed);
    for (let round = 0; round < 6; round++) {
      const { before, after, sections } = randomChange(random);
      await using tree = await Tree.with(before);
      const untouched = await tree.snapshot();
      const spoiled = random.chance(0.4);
      const patch = patchOf(...sections, ...(spoiled ? [random.pick(SPOILERS)] : []));
      if (!spoiled) {
        await tree.apply(patch);
        expect(await tree.texts()).toEqual(after);
        continue;
      }
      const outcome = await tree.plan(patch).then(
        (plan) => applyPlan(plan, { mayWrite: tree.mayWrite, mayRead: () => true }),
        (error: unknown) => error,
      );
      expect(outcome).toBeInstanceOf(PatchInvalid);
      expect(await tree.snapshot()).toEqual(untouched);
    }
  });
});

const SPOILERS = [
  "*** Update File: missing.txt\n@@\n-x\n+y",
  "*** Update File: kept.txt\n@@\n-not in the file\n+y",
  "*** Update File: kept.txt\n@@ nowhere\n kept\n+y",
  "*** Delete File: missing.txt",
  "*** Add File: .",
];

/** Files before and after, and the patch sections between them. */
function randomChange(random: SeededRandom): { before: Record<string, string>; after: Record<string, string>; sections: string[] } {
  const before: Record<string, string> = { "kept.txt": "kept\n" };
  const after: Record<string, string> = { ...before };
  const sections: string[] = [];
  for (const name of random.several(1, 5, () => `d${random.below(3)}/${random.below(1_000_000)}.txt`)) {
    const old = random.several(1, 20, () => random.pick(TEXTS));
    const target = edited(old, random);
    const movePath = random.chance(0.3) ? `moved/${name}` : undefined;
    const update = updateSection(name, old, target, movePath === undefined ? {} : { movePath });
    const kind = random.pick(["add", "delete", "update"]);
    if (kind === "add" || update === undefined) {
      after[name] = joined(target, "\n");
      sections.push(addSection(name, target));
      continue;
    }
    before[name] = joined(old, "\n");
    sections.push(kind === "delete" ? `*** Delete File: ${name}` : update);
    if (kind === "update") after[movePath ?? name] = joined(target, "\n");
  }
  return { before, after, sections };
}
