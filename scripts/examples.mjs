// Builds, then runs every example one after the other; fails if one does.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";

function succeeds(...args) {
  return spawnSync(process.execPath, args, { stdio: ["ignore", "inherit", "inherit"] }).status === 0;
}

if (!succeeds("scripts/build.mjs")) process.exit(1);
const examples = readdirSync("examples").filter((file) => file.endsWith(".ts"));
const failed = examples.filter((file) => {
  console.log(`--- ${file}`);
  return !succeeds("scripts/run-ts.mjs", `examples/${file}`);
});
console.log(failed.length === 0 ? `${examples.length} examples ran` : `failed: ${failed.join(", ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;
