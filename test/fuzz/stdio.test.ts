import { Victim } from "../attack/victim.js";
import type { SeededRandom } from "../support/patch/random.js";
import { checkAnswer, checkHealth, describeFuzz } from "./fuzz.js";
import { bentObject, bentText, strangeBytes, strangeText, strangeValue } from "./invent.js";

type Json = Record<string, unknown>;

const CHECK_EVERY = 50;

const METHODS = [
  "initialize",
  "ping",
  "tools/list",
  "tools/call",
  "resources/list",
  "logging/setLevel",
  "tasks/get",
  "tasks/cancel",
  "subscriptions/listen",
  "server/discover",
  "notifications/cancelled",
  "completion/complete",
] as const;

/** Any line, and the id of the expected answer if the line is a request. */
function inventLine(random: SeededRandom, id: string): { readonly bytes: Buffer; readonly expects?: string } {
  const method = random.chance(0.8) ? random.pick(METHODS) : strangeText(random);
  const request: Json = { jsonrpc: "2.0", id, method, params: strangeValue(random) };
  // `subscriptions/listen` is answered only when it ends.
  const answered = method !== "subscriptions/listen";
  const kind = random.below(6);
  if (kind <= 1) return { bytes: Buffer.from(JSON.stringify(request)), ...(answered && { expects: id }) };
  if (kind === 2) return { bytes: Buffer.from(JSON.stringify(bentObject(random, request))) };
  if (kind === 3) return { bytes: Buffer.from(bentText(random, JSON.stringify(request)).replaceAll("\n", " ")) };
  if (kind === 4) return { bytes: Buffer.from(JSON.stringify(random.several(0, 3, () => bentObject(random, request)))) };
  return { bytes: Buffer.from(strangeBytes(random, 200).map((byte) => (byte === 10 ? 32 : byte))) };
}

describeFuzz("lines on stdio", {
  budget: { quick: 300, all: 5_000 },
  play: async (ground, rounds) => {
    await using victim = await Victim.onStdio(ground, { engine: "scripted" });
    let number = 0;
    for (const random of rounds) {
      const id = `fuzz-${++number}`;
      const { bytes, expects } = inventLine(random, id);
      victim.server.write(Buffer.concat([bytes, Buffer.from("\n")]));
      if (expects !== undefined) checkAnswer(await victim.server.answer(expects), bytes.toString());
      if (number % CHECK_EVERY === 0) await checkHealth(victim);
    }
    await checkHealth(victim);
  },
});
