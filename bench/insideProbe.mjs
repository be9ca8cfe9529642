// Loaded into a server under test with `node --import`: answers every message on Node's own channel with what the process holds, after
// a forced collection. What the channel itself holds is left out.
import { readdirSync, readlinkSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");
/** A collection gives memory back to the system some time later, and finalisers let go of more. */
const COLLECTIONS = 4;
const PAUSE_MS = 300;

process.on("message", () => void tellAll());
process.channel.unref();

async function tellAll() {
  for (let n = 0; n < COLLECTIONS; n++) {
    collect();
    await sleep(PAUSE_MS);
  }
  const { rss, heapUsed } = process.memoryUsage();
  process.send({ rss, heapUsed, resources: countBy(process.getActiveResourcesInfo()), descriptors: descriptors() });
}

function countBy(names) {
  const counts = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/** What the open file descriptors lead to. The one that this look itself opens is gone by the time it is asked about. */
function descriptors() {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc/self/fd").flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      return [];
    }
  });
}
