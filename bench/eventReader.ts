// Reads event streams until each has shown the expected number of ended turns, and then reports what each stream received. It is a separate process, so
// that the cost of reading does not count as the server's.
//   node scripts/run-ts.mjs bench/eventReader.ts JSON
import { createHash } from "node:crypto";
import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import type { ReadStream, StreamPlan } from "./eventStreams.js";

const MOST_OPENED_AT_ONCE = 50;
const ownConnections = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });
/** Events that each stream gets at different times. */
const OF_THE_STREAM = /"type":"(?:hello|heartbeat|server\.connected|server\.heartbeat)"/;
/** Fields that depend on when a stream got the event: the time of sending, and the turn's duration until then. */
const TOLD_AT = /"at":"[^"]*"|"ms":\d+/g;

process.once("disconnect", () => process.exit(1));
const plans: readonly StreamPlan[] = JSON.parse(process.argv[2] ?? "[]");
const wanted = plans.flatMap((plan) => Array.from({ length: plan.count }, () => plan));
const streams: { readonly complete: Promise<void>; told(): ReadStream }[] = [];
while (streams.length < wanted.length)
  streams.push(...(await Promise.all(wanted.slice(streams.length, streams.length + MOST_OPENED_AT_ONCE).map((plan) => read(plan)))));
process.send?.("reading");
// The parent process has a deadline and asks for the results when it has passed.
await Promise.race([Promise.all(streams.map(({ complete }) => complete)), once(process, "message")]);
process.send?.(
  streams.map((stream) => stream.told()),
  () => process.exit(0),
);

async function read({ url, end, ends }: StreamPlan): Promise<(typeof streams)[number]> {
  const call = request(url, { agent: ownConnections, headers: { accept: "text/event-stream" } });
  call.end();
  const [response]: IncomingMessage[] = await once(call, "response");
  if (response?.statusCode !== 200) throw new Error(`${url} returned ${response?.statusCode}`);
  const [endMark, digest] = [`"type":"${end}"`, createHash("sha1")];
  let [begun, events, seenEnds] = ["", 0, 0];
  const take = (frame: string) => {
    const at = frame.indexOf("data:");
    if (at < 0 || OF_THE_STREAM.test(frame)) return;
    events++;
    // Without its id, which depends on the events of other threads that the stream has seen.
    digest.update(frame.slice(at).replaceAll(TOLD_AT, ""));
    if (frame.includes(endMark)) seenEnds++;
  };
  const complete = new Promise<void>((resolve) => {
    response.setEncoding("utf8").on("data", (chunk: string) => {
      const frames = (begun + chunk).split("\n\n");
      begun = frames.pop() ?? "";
      frames.forEach(take);
      if (seenEnds >= ends) resolve();
    });
  });
  response.on("error", () => {});
  call.on("error", () => {});
  return { complete, told: () => ({ url, events, ends: seenEnds, digest: digest.digest("hex") }) };
}
