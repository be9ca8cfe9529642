import { startResponsesServer } from "./responsesServer.js";

// A program for benchmarks: its first line is its address, and it ends with its stdin.
const server = await startResponsesServer({ keepRequests: false });
process.stdout.write(`${JSON.stringify({ url: server.url })}\n`);
process.stdin.resume();
process.stdin.once("end", () => process.exit(0));
