import { Victim } from "../attack/victim.js";
import type { Override, ResponsesServerOptions } from "../support/model/responsesServer.js";
import type { SeededRandom } from "../support/patch/random.js";
import { checkAnswer, checkHealth, describeFuzz } from "./fuzz.js";
import { bentObject, bentText, strangeBytes, strangeText, strangeValue } from "./invent.js";

type Json = Readonly<Record<string, unknown>>;

const CHECK_EVERY = 25;
/** A limit, since a damaged stream could make the turn ask the model without end. */
const MOST_ANSWERS = 8;
const PROMPTS = [
  "!say hello there",
  "!think hm\n!say well",
  "!shell true\n!say done",
  "!plan a|b\n!say done",
  "!patch made.txt hi\n!say done",
  "!call view_image {}\n!say x",
] as const;
const STATUS = [200, 201, 204, 301, 400, 401, 403, 404, 408, 413, 429, 500, 502, 503, 529] as const;

function sse(events: readonly Json[]): string {
  return events.map((event) => `event: ${String(event["type"])}\ndata: ${JSON.stringify(event)}\n\n`).join("");
}

/** A damaged form of the model's stream. */
function inventStream(random: SeededRandom, events: readonly Json[]): Override {
  const text = sse(events);
  return random.pick<() => Override>([
    () => ({ stream: bentText(random, text) }),
    () => ({ stream: sse(events.map((event) => (random.chance(0.3) ? bentObject(random, event) : event))) }),
    () => ({ stream: sse(events.filter(() => random.chance(0.8))) }),
    () => ({ stream: sse([...events].sort(() => random.next() - 0.5)) }),
    () => ({ stream: sse(events.flatMap((event) => (random.chance(0.3) ? [event, event] : [event]))) }),
    () => ({ stream: text.replaceAll("\n", random.pick(["\r\n", "\r", "\n\n", "\n:\n"])) }),
    () => ({ stream: `data: ${JSON.stringify(strangeValue(random))}\n\n${text}` }),
    () => ({ stream: strangeBytes(random, 500).toString("latin1") }),
    () => ({ stream: `data: ${"x".repeat(random.below(300_000))}` }),
    () => ({ status: random.pick(STATUS), body: strangeText(random), headers: { "retry-after": "0" } }),
    () => ({ ending: "cut" }),
  ])();
}

describeFuzz("streams of the model", {
  budget: { quick: 60, all: 800 },
  play: async (ground, rounds) => {
    let random: SeededRandom | undefined;
    let answers = 0;
    const respond: ResponsesServerOptions["respond"] = (_request, _index, scripted) => {
      if (!random || ++answers > MOST_ANSWERS) return undefined;
      return inventStream(random, scripted.events);
    };
    await using victim = await Victim.onStdio(ground, { model: { respond, keepRequests: false } });
    let number = 0;
    for (const source of rounds) {
      random = source;
      answers = 0;
      const prompt = source.pick(PROMPTS);
      checkAnswer(await victim.turn(prompt), prompt);
      if (++number % CHECK_EVERY === 0) await checkHealth(victim);
    }
    await checkHealth(victim);
  },
});
