// Loaded into a server under test with `node --import`. Answers every message on Node's IPC channel with the resources of the process, after a forced
// garbage collection and without those of the channel itself.
import { readdirSync, readlinkSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc");
/** Memory returns to the system some time after a collection, and finalisers release more. */
const COLLECTIONS = 4;
const PAUSE_MS = 300;

process.on("message", () => void notifyAll());
process.channel.unref();

async function notifyAll() {
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

/** The targets of the open file descriptors. The descriptor that this call opens is closed again before it is resolved. */
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
