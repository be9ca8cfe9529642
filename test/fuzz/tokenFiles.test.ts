import { chmodSync, renameSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Ground } from "../attack/ground.js";
import { tokenLines, Victim } from "../attack/victim.js";
import { ask, rpc } from "../support/http/httpClient.js";
import type { SeededRandom } from "../support/patch/random.js";
import { checkHealth, describeFuzz } from "./fuzz.js";
import { bentText, strangeBytes, strangeText } from "./invent.js";

const CHECK_EVERY = 20;
const LOOK_EVERY_MS = 50;
const PATIENCE_MS = 20_000;

const fileOf = ({ root }: Ground) => path.join(root, "keys/tokens");

/** Replaces the token file in one of the ways that editors and systems use. */
function replaceFile(ground: Ground, random: SeededRandom): void {
  const file = fileOf(ground);
  const text = random.pick([
    () => bentText(random, tokenLines(ground)),
    () => strangeText(random),
    () => strangeBytes(random, 300).toString("latin1"),
    () => "",
    () => `${tokenLines(ground)}${tokenLines(ground)}`,
  ])();
  const put = random.pick([
    () => ground.hold(file, text),
    () => {
      ground.hold(`${file}.new`, text);
      renameSync(`${file}.new`, file);
    },
    () => rmSync(file, { force: true }),
    () => {
      rmSync(file, { force: true });
      symlinkSync(random.pick(["/dev/null", "/nowhere", "tokens"]), file);
    },
    () => chmodSync(ground.hold(file, text), random.pick([0o600, 0o644, 0o000])),
  ]);
  rmSync(file, { force: true });
  put();
}

async function statusFor(victim: Victim, token: string): Promise<number> {
  const { status } = await ask(victim.url, { headers: { authorization: `Bearer ${token}` }, message: rpc(1, "ping") });
  return status;
}

describeFuzz("token files", {
  budget: { quick: 30, all: 400 },
  play: async (ground, rounds) => {
    await using victim = await Victim.onPort(ground, { engine: "scripted" });
    let number = 0;
    for (const random of rounds) {
      replaceFile(ground, random);
      const status = await statusFor(victim, random.chance(0.5) ? ground.secret("token of alice") : "not-a-token-of-anybody");
      if (![200, 401, 429].includes(status)) throw new Error(`answered with ${status}`);
      if (++number % CHECK_EVERY === 0) await checkHealth(victim);
    }
    rmSync(fileOf(ground), { force: true });
    ground.hold(fileOf(ground), tokenLines(ground));
    await goesBackToNormal(victim, ground);
    await checkHealth(victim);
  },
});

/** A valid file is used again, however often it was invalid before. */
async function goesBackToNormal(victim: Victim, ground: Ground): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    const status = await statusFor(victim, ground.secret("token of alice"));
    if (status === 200) return;
    await sleep(LOOK_EVERY_MS);
    if (performance.now() > end) throw new Error(`A good token file is not taken any more: ${status}`);
  }
}
