// Stands between a client and its stdio server and notes every message with its time.
//   node tap.mjs NOTES PROGRAM [ARG...]
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { constants } from "node:os";

const [notes = "", program = "", ...args] = process.argv.slice(2);
const server = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });

/** @param {NodeJS.ReadableStream} from @param {NodeJS.WritableStream} to @param {string} direction */
function pass(from, to, direction) {
  let begun = "";
  from.on("data", (/** @type {Buffer} */ part) => {
    const lines = (begun + part.toString("utf8")).split("\n");
    begun = lines.pop() ?? "";
    const at = Date.now();
    appendFileSync(notes, lines.map((line) => `${JSON.stringify({ at, direction, line: line.slice(0, 200_000) })}\n`).join(""));
  });
  from.pipe(to);
}

pass(process.stdin, server.stdin, "in");
pass(server.stdout, process.stdout, "out");
for (const stream of [server.stdin, process.stdout]) stream.on("error", () => {});
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => server.kill(/** @type {NodeJS.Signals} */ (signal)));
server.on("error", () => process.exit(1));
server.on("exit", (code, signal) => process.exit(code ?? 128 + (signal ? constants.signals[signal] : 0)));
