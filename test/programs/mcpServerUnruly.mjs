// An MCP server that misbehaves as its arguments say:
//   exit              writes an error to stderr and ends before it has sent a message
//   silent            never answers
//   late FILE         answers nothing before the file exists
//   noisy             prints text that is no message to stdout, and megabytes to stderr
//   stubborn          ignores the end of its input and SIGTERM
//   breeder           starts a stubborn child in its process group
//   named NAME…       offers tools with these names
//   deep              offers a tool whose input schema has 100,000 levels, and one whose results have
// and at the first call of a tool:
//   hoarse            closes its output, and keeps running
//   brittle           is killed
//   forsaking         ends, while a stubborn child holds its output open
import { spawn } from "node:child_process";
import { closeSync, existsSync, watch } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";

const [behaviour, ...words] = process.argv.slice(2);

// Node cannot write such an object.
const DEEP = `${'{"x":'.repeat(100_000)}1${"}".repeat(100_000)}`;

process.stdout.on("error", () => {});

if (behaviour === "exit") {
  console.error(`starting\nno licence for ${process.env.LICENCE_KEY}`);
  process.exit(3);
}
if (behaviour === "noisy") {
  console.log("welcome\n{ not json\n[1]\n");
  for (let megabytes = 0; megabytes < 5; megabytes++) console.error("e".repeat(1_000_000));
}
if (behaviour === "stubborn") ignoreTheEnd();
if (behaviour === "breeder" || behaviour === "forsaking")
  spawn(process.execPath, [import.meta.filename, "stubborn"], { stdio: ["ignore", "inherit", "inherit"] });
if (behaviour === "late") await appearance(words[0]);

for await (const request of createInterface({ input: process.stdin })) {
  const { id, method } = JSON.parse(request);
  if (id === undefined || behaviour === "silent") continue;
  const line = JSON.stringify({ jsonrpc: "2.0", id, ...answerTo(method) });
  process.stdout.write(`${line.replace('"DEEP"', DEEP)}\n`, () => {});
}

function answerTo(method) {
  switch (method) {
    case "initialize":
      return { result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "unruly", version: "1" } } };
    case "tools/list":
      if (behaviour === "deep") return { result: { tools: [{ name: "nested", inputSchema: { properties: "DEEP" } }, { name: "plain" }] } };
      // Entries without a valid description or schema.
      return { result: { tools: (behaviour === "named" ? words : ["pid"]).map((name) => ({ name, inputSchema: {} })) } };
    case "tools/call":
      if (behaviour === "hoarse") closeSync(1);
      if (behaviour === "brittle") process.kill(process.pid, "SIGKILL");
      if (behaviour === "forsaking") process.exit(5);
      if (behaviour === "deep") return { result: { content: [], structuredContent: {}, _meta: { x: "DEEP" } } };
      return { result: { content: [{ type: "text", text: String(process.pid) }] } };
    default:
      return { error: { code: -32_601, message: "Method not found" } };
  }
}

function ignoreTheEnd() {
  process.on("SIGTERM", () => {});
  setInterval(() => {}, 60_000);
}

function appearance(file) {
  return new Promise((resolve) => {
    const watcher = watch(path.dirname(file), look);
    function look() {
      if (!existsSync(file)) return;
      watcher.close();
      resolve();
    }
    look();
  });
}
