import { SANDBOX_MODES } from "../../exec/policies.js";
import type { OneOffResult } from "../../threads/engineServices.js";
import { CHARACTERS_PER_TOKEN, withinRoom } from "../wording/answerBudget.js";
import { answer } from "../wording/callResult.js";
import { arg, defineTool } from "./tool.js";

const DEFAULT_TIMEOUT_MS = 60_000;
const TIMED_OUT = 124;

/** Runs one command in the requested sandbox, outside any thread. No approval is requested. */
export const execTool = defineTool({
  name: "codex-exec",
  title: "Codex Exec",
  description: "Runs one command in a sandbox, without a model.",
  input: {
    command: arg.texts("Program and arguments; no shell."),
    cwd: arg.optional(arg.text("Working directory.")),
    sandbox: arg.optional(arg.choice(SANDBOX_MODES, "What it may touch; as for a new thread unless given.")),
    timeoutMs: arg.optional(arg.whole({ from: 1, to: 3_600_000 }, "Milliseconds it may take (60000).")),
  },
  output: {
    properties: { exitCode: { type: "number" }, stdout: { type: "string" }, stderr: { type: "string" } },
    required: ["exitCode", "stdout", "stderr"],
    type: "object",
  },
  sets: ["extras"],
  order: 20,
  answers: "exit code, stdout and stderr; 124 after a timeout",
  example: { command: ["ls", "-l"], cwd: ".", sandbox: "read-only", timeoutMs: 5_000 },
  async call({ command, timeoutMs = DEFAULT_TIMEOUT_MS, ...asked }, { agent, ask, resultTokens }) {
    const ended = await agent.server.run(ask, { argv: command, timeoutMs, ...asked });
    const result = { exitCode: ended.exitCode, ...shortened(ended, resultTokens * CHARACTERS_PER_TOKEN) };
    return answer(asInTerminal(result), result);
  },
});

type Streams = Pick<OneOffResult, "stdout" | "stderr">;

const THE_REST = "To see them, let the command write to a file or print less.";

/** Each stream gets at least half of the room, and what the other stream does not need. */
function shortened({ stdout, stderr }: Streams, room: number): Streams {
  const roomBeside = (other: string) => Math.max(room / 2, room - other.length);
  return { stdout: withinRoom(stdout, roomBeside(stderr), THE_REST), stderr: withinRoom(stderr, roomBeside(stdout), THE_REST) };
}

function asInTerminal({ exitCode, stdout, stderr }: OneOffResult): string {
  const output = [stdout, stderr].map((stream) => stream.trimEnd()).filter((stream) => stream !== "");
  const why = exitCode === TIMED_OUT ? ": it timed out" : "";
  if (exitCode !== 0 || output.length === 0) output.push(`(exit code ${exitCode}${why})`);
  return output.join("\n");
}
