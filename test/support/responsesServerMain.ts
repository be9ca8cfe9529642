import { startResponsesServer } from "./responsesServer.js";

// A program for benchmarks: the first line says where it listens, and it ends with its stdin.
const server = await startResponsesServer({ keepRequests: false });
process.stdout.write(`${JSON.stringify({ url: server.url })}\n`);
process.stdin.resume();
process.stdin.once("end", () => process.exit(0));
