// Runs random and mutated patches through parser, plan and disk. Only expected errors may occur, and a failed patch must leave the tree unchanged.
//   node scripts/run-ts.mjs bench/fuzzPatch.ts [--seconds N] [--seed N]
import { mkdir, symlink } from "node:fs/promises";
import { parseArgs } from "node:util";
import { applyPlan } from "../src/exec/patch/apply.js";
import { fileChangesOf, TurnDiff } from "../src/exec/patch/changes.js";
import { EmptyPatch, PatchFailed, PatchInvalid } from "../src/exec/patch/errors.js";
import { parsePatch } from "../src/exec/patch/parse.js";
import { planPatch } from "../src/exec/patch/plan.js";
import { addSection, patchOf, updateSection } from "../test/support/patch/patchText.js";
import { SeededRandom } from "../test/support/patch/random.js";
import { Tree } from "../test/support/patch/tree.js";

const ROUNDS_PER_TREE = 50;

const PATHS = [
  "a.txt",
  "b.txt",
  "sub/c.txt",
  "sub",
  "link",
  "out/x.txt",
  "inner/c.txt",
  "new.txt",
  "n/e/w",
  "../esc",
  "./a.txt",
  "a.txt/b",
  "crlf.txt",
  "bin",
  "",
];
const LINES = ["a", "b", "c", "", " ", "\t", "}", "  a", "a  ", "“a”", "@@", "***", "\r", "é", "\ud83d", "\0", "x".repeat(500)];
const MARKERS = [
  "*** Begin Patch",
  "*** End Patch",
  "*** Add File: a.txt",
  "*** Delete File: b.txt",
  "*** Update File: a.txt",
  "*** Move to: new.txt",
  "*** End of File",
  "@@",
  "@@ a",
  "<<EOF",
  "EOF",
  " ",
  "+",
  "-",
  "+a",
  "-a",
  " a",
  "",
];

/** Something that must not happen. */
class Violation extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
  }
}

const { values } = parseArgs({
  options: { seconds: { type: "string", default: "60" }, seed: { type: "string", default: `${Date.now() % 1_000_000}` } },
});
process.exitCode = await fuzz({ seconds: Number(values.seconds), random: new SeededRandom(Number(values.seed)) });

/** Resolves with the exit code. */
async function fuzz({ seconds, random }: { seconds: number; random: SeededRandom }): Promise<number> {
  const deadline = performance.now() + seconds * 1000;
  const outcomes = new Map<string, number>();
  let rounds = 0;
  while (performance.now() < deadline) {
    await using stage = await openStage();
    for (let n = 0; n < ROUNDS_PER_TREE && performance.now() < deadline; n++, rounds++) {
      const patch = randomPatch(random, await stage.inside.texts());
      const outcome = await play(patch, stage).catch((error: unknown) =>
        error instanceof Violation ? error : new Violation("threw", error),
      );
      if (outcome instanceof Violation) {
        console.error(`seed ${random.seed}, round ${rounds}: ${outcome.message}`, outcome.cause, `\n${JSON.stringify(patch)}`);
        return 1;
      }
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
    }
  }
  console.log(`seed ${random.seed}: ${rounds} patches, ${[...outcomes].map(([name, count]) => `${name} ${count}`).join(", ")}`);
  return 0;
}

interface Stage extends AsyncDisposable {
  readonly inside: Tree;
  readonly outside: Tree;
}

async function openStage(): Promise<Stage> {
  const inside = await Tree.with({
    "a.txt": "a\nb\nc\n\n}\na\nb\n}\n",
    "b.txt": "b",
    "sub/c.txt": "\ta\n“a”\n",
    "crlf.txt": "a\r\nb\r\n",
    bin: Buffer.from([255, 0]),
  });
  const outside = await Tree.with({ "x.txt": "a\n" });
  await symlink("a.txt", inside.at("link"));
  await symlink("sub", inside.at("inner"));
  await symlink(outside.root, inside.at("out"));
  await mkdir(inside.at("empty"));
  const close = async () => {
    await inside[Symbol.asyncDispose]();
    await outside[Symbol.asyncDispose]();
  };
  return { inside, outside, [Symbol.asyncDispose]: close };
}

/** Names the outcome; throws a Violation for a forbidden one. */
async function play(patch: string, { inside, outside }: Stage): Promise<string> {
  const before = await inside.snapshot();
  const outcome = await applied(patch, inside);
  const after = await inside.snapshot();
  if (outcome !== "applied" && JSON.stringify(after) !== JSON.stringify(before))
    throw new Violation(`${outcome}, but the tree has changed`);
  if (Object.keys(after).some((name) => name.includes(".patch-"))) throw new Violation("something temporary was left");
  if (JSON.stringify(await outside.texts()) !== '{"x.txt":"a\\n"}') throw new Violation("something outside was changed");
  return outcome;
}

async function applied(patch: string, tree: Tree): Promise<string> {
  try {
    const plan = await planPatch(parsePatch(patch), { cwd: tree.root, mayRead: () => true });
    fileChangesOf(plan);
    await applyPlan(plan, { mayWrite: tree.mayWrite, mayRead: () => true });
    new TurnDiff().add(plan);
    return "applied";
  } catch (error) {
    if (error instanceof PatchInvalid || error instanceof PatchFailed || error instanceof EmptyPatch) return error.code;
    throw error;
  }
}

function randomPatch(random: SeededRandom, files: Readonly<Record<string, string>>): string {
  if (random.chance(0.1)) return random.several(0, 12, () => random.pick([...MARKERS, ...LINES])).join("\n");
  const patch = patchOf(...random.several(0, 4, () => randomSection(random, files)));
  return random.chance(0.5) ? patch : mutated(patch, random);
}

function randomSection(random: SeededRandom, files: Readonly<Record<string, string>>): string {
  const lines = () => random.several(0, 6, () => random.pick(LINES));
  const path = random.pick(PATHS);
  const choice = random.next();
  if (choice < 0.2) return addSection(path, lines());
  if (choice < 0.3) return `*** Delete File: ${path}`;
  if (choice < 0.4)
    return `*** Update File: ${path}\n${lines()
      .map((line) => `${random.pick([" ", "+", "-", ""])}${line}`)
      .join("\n")}`;
  const [name, text] = random.pick(Object.entries({ "b.txt": "b", ...files }));
  const old = text.split("\n").slice(0, text.endsWith("\n") ? -1 : undefined);
  const target = old.toSpliced(random.below(old.length + 1), random.below(3), ...lines());
  return updateSection(name, old, target, random.chance(0.3) ? { movePath: random.pick(PATHS) } : {}) ?? `*** Delete File: ${name}`;
}

/** A copy with a few lines dropped, doubled, swapped or replaced. */
function mutated(patch: string, random: SeededRandom): string {
  let lines = patch.split("\n");
  for (let changes = 1 + random.below(3); changes > 0 && lines.length > 0; changes--) {
    const at = random.below(lines.length);
    const line = lines[at] ?? "";
    const replacement = random.pick([
      [],
      [line, line],
      [random.pick(MARKERS)],
      [` ${line}`],
      [line.slice(1)],
      [`${line}\r`],
      [line.slice(0, random.below(line.length + 1))],
    ]);
    lines = lines.toSpliced(at, 1, ...replacement);
  }
  return lines.join(random.chance(0.1) ? "\r\n" : "\n");
}
