// Builds, then runs all examples one after the other; fails if one fails.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";

function runs(program, ...args) {
  return spawnSync(program, args, { stdio: ["ignore", "inherit", "inherit"] }).status === 0;
}

function succeeds(...args) {
  return runs(process.execPath, ...args);
}

if (!succeeds("scripts/build.mjs")) process.exit(1);
const examples = readdirSync("examples").filter((file) => /\.(ts|sh)$/.test(file));
const failed = examples.filter((file) => {
  console.log(`--- ${file}`);
  return !(file.endsWith(".sh") ? runs("sh", `examples/${file}`) : succeeds("scripts/run-ts.mjs", `examples/${file}`));
});
console.log(failed.length === 0 ? `${examples.length} examples ran` : `failed: ${failed.join(", ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;
