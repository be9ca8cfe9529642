// Pings the server at a URL, or, with EXPECTED, gets the document there and checks that it contains that text. On the signal to stop, it reports the
// time of each response. It is a separate process, so that the work of other clients does not count as the server's.
//   node scripts/run-ts.mjs bench/httpPinger.ts URL [EXPECTED]
import { HttpClient } from "./httpClient.js";
import { type Asker, askOnOne } from "./httpLoad.js";

const [url = "", expect] = process.argv.slice(2);
const client = expect === undefined ? await HttpClient.open(url) : getter(new URL(url), expect);
let going = true;
process.once("message", () => {
  going = false;
});
process.once("disconnect", () => process.exit(1));
process.send?.("pinging");
const times = await askOnOne(client, "ping", () => !going);
process.send?.(times, () => process.exit(0));

function getter(address: URL, expected: string): Asker {
  return { url: address, expect: expected, request: () => `GET ${address.pathname} HTTP/1.1\r\nhost: ${address.host}\r\n\r\n` };
}
