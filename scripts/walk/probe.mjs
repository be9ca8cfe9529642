// Loaded into the server before its own code. Counts function calls and takes stack traces, on request of the walk.
import http from "node:http";
import { Session } from "node:inspector/promises";
import { syncBuiltinESMExports } from "node:module";
import { createConnection } from "node:net";
import { createInterface } from "node:readline";

const { WALK_SOCKET: socketPath, WALK_MODEL: modelUrl = "" } = process.env;
const MODEL_PORT = new URL(modelUrl).port;

const session = new Session();
session.connect();
const scripts = new Map();
session.on("Debugger.scriptParsed", ({ params }) => scripts.set(params.url, params.scriptId));
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
await session.post("Debugger.enable");

/** Stack traces of the running call, in the order in which they were taken. */
let traces = [];
globalThis.takeWalkTrace = (what) => {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 200;
  traces.push({ what, stack: new Error(what).stack });
  Error.stackTraceLimit = stackTraceLimit;
  return false;
};

const { request } = http;
http.request = function (...args) {
  if (args.some((arg) => String(arg?.port ?? URL.parse?.(String(arg))?.port ?? "") === MODEL_PORT)) globalThis.takeWalkTrace("model");
  return request.apply(this, args);
};
syncBuiltinESMExports();

const COMMANDS = {
  /** Resets the counts. */
  async reset() {
    await session.post("Profiler.takePreciseCoverage");
    traces = [];
  },
  async coverage() {
    const { result } = await session.post("Profiler.takePreciseCoverage");
    return result;
  },
  traces: async () => traces,
  /** Records a stack trace whenever the function at this position is entered. The breakpoint's condition is never true, so the program continues. */
  async watch({ url, start, end, what }) {
    const scriptId = scripts.get(url);
    const { locations } = await session.post("Debugger.getPossibleBreakpoints", {
      start: { scriptId, ...start },
      end: { scriptId, ...end },
      restrictToFunction: true,
    });
    await session.post("Debugger.setBreakpoint", {
      location: locations[0],
      condition: `takeWalkTrace(${JSON.stringify(what)})`,
    });
  },
};

const connection = createConnection(socketPath);
createInterface({ input: connection }).on("line", (line) => void carryOut(line));
connection.unref();
connection.on("error", () => {});

async function carryOut(line) {
  const { command, ...options } = JSON.parse(line);
  let answer;
  try {
    answer = { result: (await COMMANDS[command](options)) ?? null };
  } catch (error) {
    answer = { error: String(error?.stack ?? error) };
  }
  connection.write(`${JSON.stringify(answer)}\n`);
}
