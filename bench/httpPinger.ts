// A client that pings the server at an address until it is told to stop, and then says how long each answer took. A process of its own:
// what other clients are busy with must not count as the server's slowness.
//   node scripts/run-ts.mjs bench/httpPinger.ts URL
import { HttpClient } from "./httpClient.js";
import { ask } from "./httpLoad.js";

const SLICE = { connections: 1, forMs: 100 };

const [url = ""] = process.argv.slice(2);
const client = await HttpClient.open(url);
let going = true;
process.once("message", () => {
  going = false;
});
process.once("disconnect", () => process.exit(1));
process.send?.("pinging");
const times: number[] = [];
while (going) times.push(...(await ask(client, "ping", SLICE)));
process.send?.(times, () => process.exit(0));
