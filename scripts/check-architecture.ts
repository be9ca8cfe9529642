// Checks the rules of docs/architecture.md. Exits non-zero if one is broken.
//   node scripts/run-ts.mjs scripts/check-architecture.ts [--list]     --list: all findings, including known open ones
import { findings } from "./architecture/findings.js";
import { readSources } from "./architecture/sources.js";

const isListing = process.argv.includes("--list");
const results = findings(readSources("src"));
for (const { rule, found, broken } of results) {
  console.log(`${broken.length === 0 ? "ok    " : "FAILED"} ${rule}${found.length > broken.length ? ` [${found.length} still open]` : ""}`);
  for (const line of isListing ? found : broken) console.log(`         ${line}`);
}
process.exitCode = results.every(({ broken }) => broken.length === 0) ? 0 : 1;
