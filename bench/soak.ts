// Runs clients that connect, leave, die and misbehave on a real server: `npm run soak -- [--seconds N] [--warm-up N] [--clients N]`.
// Fails if they leave anything behind, if memory has grown, or if a well-behaved client did not get its answer.
import { parseArgs } from "node:util";
import { complaints } from "./soak/complaints.js";
import { soak } from "./soak/soak.js";

const MEMORY_MARGIN = 1.1;

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "600" },
    "warm-up": { type: "string", default: "60" },
    clients: { type: "string", default: "12" },
  },
});
const report = await soak({
  warmUpSeconds: Number(values["warm-up"]),
  seconds: Number(values.seconds),
  size: Number(values.clients),
  restMs: 20,
  told: (line) => console.error(line),
});
console.log(JSON.stringify(report.visits, undefined, 1));
const found = complaints(report, { memoryMargin: MEMORY_MARGIN });
for (const complaint of found) console.error(`- ${complaint}`);
process.exitCode = found.length === 0 ? 0 : 1;
