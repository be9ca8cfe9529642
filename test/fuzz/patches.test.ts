import { readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import type { Ground } from "../attack/ground.js";
import { Victim } from "../attack/victim.js";
import type { SeededRandom } from "../support/patch/random.js";
import { checkAnswer, checkHealth, describeFuzz } from "./fuzz.js";
import { bentText, strangeText } from "./invent.js";

const CHECK_EVERY = 25;
const CONTENT = "a\nb\nc\n\n}\na\nb\n}\n";
const OUTSIDE = "untouched\n";
const PATHS = [
  "a.txt",
  "sub/c.txt",
  "sub",
  "link",
  "out/x.txt",
  "new.txt",
  "n/e/w.txt",
  "../outside/x.txt",
  "./a.txt",
  "a.txt/b",
  "loop",
  "",
] as const;
const LINES = ["a", "b", "c", "", " ", "\t", "}", "  a", "“a”", "@@", "***", "\r", "é", "x".repeat(300)] as const;
const MARKERS = [
  "*** Begin Patch",
  "*** End Patch",
  "*** End of File",
  "*** Move to: new.txt",
  "@@",
  "@@ a",
  "<<EOF",
  "EOF",
  "+a",
  "-a",
  " a",
  "",
] as const;

function furnish(ground: Ground): void {
  ground.write(ground.inWorkspace("a.txt"), CONTENT);
  ground.write(ground.inWorkspace("sub/c.txt"), "a\n");
  ground.write(path.join(ground.outside, "x.txt"), OUTSIDE);
  symlinkSync("a.txt", ground.inWorkspace("link"));
  symlinkSync(ground.outside, ground.inWorkspace("out"));
  symlinkSync("loop", ground.inWorkspace("loop"));
}

function inventPatch(random: SeededRandom): string {
  const pathName = () => (random.chance(0.8) ? random.pick(PATHS) : strangeText(random));
  const lines = (mark: () => string) => random.several(0, 6, () => `${mark()}${random.pick(LINES)}`);
  const section = () =>
    random.pick([
      () => [`*** Add File: ${pathName()}`, ...lines(() => "+")],
      () => [`*** Delete File: ${pathName()}`],
      () => [
        `*** Update File: ${pathName()}`,
        ...(random.chance(0.3) ? [`*** Move to: ${pathName()}`] : []),
        "@@",
        ...lines(() => random.pick([" ", "+", "-", ""])),
        ...(random.chance(0.3) ? ["*** End of File"] : []),
      ],
      () => random.several(0, 5, () => random.pick(MARKERS)),
    ])();
  const patch = ["*** Begin Patch", ...random.several(0, 4, section).flat(), "*** End Patch"].join(random.chance(0.1) ? "\r\n" : "\n");
  return random.chance(0.5) ? patch : bentText(random, patch, MARKERS);
}

/** Whatever the patch is, files outside are unchanged and no temporary file remains. */
function checkFiles(ground: Ground): void {
  const outside = readdirSync(ground.outside).map((name) => `${name}=${readFileSync(path.join(ground.outside, name), "utf8")}`);
  if (outside.join() !== `x.txt=${OUTSIDE}`) throw new Error(`Outside there is ${JSON.stringify(outside)}`);
  const left = readdirSync(ground.workspace, { recursive: true, encoding: "utf8" }).filter((name) => name.includes(".patch-"));
  if (left.length > 0) throw new Error(`Something temporary was left: ${left.join()}`);
}

describeFuzz("patches", {
  budget: { quick: 80, all: 1_000 },
  play: async (ground, rounds) => {
    furnish(ground);
    await using victim = await Victim.onStdio(ground, { engine: "scripted", args: ["--enable", "apply_patch_freeform"] });
    let number = 0;
    for (const random of rounds) {
      const patch = inventPatch(random);
      const item = { type: "custom_tool_call", call_id: "c", name: "apply_patch", input: patch };
      const args = { sandbox: "workspace-write", "approval-policy": random.pick(["never", "on-request"]) };
      checkAnswer(await victim.turn(`!item ${JSON.stringify(item)}\n!say done`, args), patch);
      checkFiles(ground);
      if (++number % CHECK_EVERY === 0) {
        rmSync(ground.inWorkspace("a.txt"), { recursive: true, force: true });
        ground.write(ground.inWorkspace("a.txt"), CONTENT);
        await checkHealth(victim);
      }
    }
    await checkHealth(victim);
  },
});
