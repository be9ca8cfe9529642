// The static checks. Runs all of them, then fails if one failed.
import { spawnSync } from "node:child_process";

/** @type {readonly [string, string, readonly string[]][]} */
const CHECKS = [
  ["format and lint", "biome", ["check", "."]],
  ["lint with types", "oxlint", ["--type-aware", "--deny-warnings"]],
  ["types", "tsc", ["--noEmit"]],
  ["types of the console", "tsc", ["-p", "console"]],
  ["unused code", "knip", []],
  ["architecture", "node", ["scripts/run-ts.mjs", "scripts/check-architecture.ts"]],
  ["lists of tools", "node", ["scripts/run-ts.mjs", "scripts/generate-tools.ts", "--check"]],
  ["configuration page", "node", ["scripts/run-ts.mjs", "scripts/generate-configuration-doc.ts", "--check"]],
  ["page of methods", "node", ["scripts/run-ts.mjs", "scripts/generate-jsonrpc-doc.ts", "--check"]],
  ["list of decisions", "node", ["scripts/run-ts.mjs", "scripts/generate-decisions-index.ts", "--check"]],
  ["page of clients", "node", ["scripts/run-ts.mjs", "scripts/clients.ts", "--page", "--check"]],
  ["package", "node", ["scripts/check-package.mjs"]],
];

const failed = CHECKS.filter(([name, command, args]) => {
  const { status, stdout, stderr, error } = spawnSync(command === "node" ? process.execPath : `node_modules/.bin/${command}`, args, {
    encoding: "utf8",
  });
  console.log(`${status === 0 ? "ok    " : "FAILED"} ${name}`);
  if (status !== 0) console.log([stdout, stderr, error?.message].join("\n"));
  return status !== 0;
});
process.exitCode = failed.length === 0 ? 0 : 1;
