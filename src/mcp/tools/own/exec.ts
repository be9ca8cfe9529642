import type { OneOffResult } from "../../../threads/engineServices.js";
import type { Agent } from "../agent.js";
import { InvalidArguments, parseArguments, type ToolStruct } from "../arguments.js";
import schemas from "../schemas.generated.json" with { type: "json" };
import type { ExecArguments } from "../schemas.js";
import type { ToolAction } from "../tool.js";
import { answer, refusing, servicesOf } from "./answers.js";
import { within } from "./within.js";

const ARGUMENTS: ToolStruct<ExecArguments> = { schema: schemas.execInput, tool: "codex-exec" };
const DEFAULT_TIMEOUT_MS = 60_000;
/** Beyond its own time a command has this long to begin and to end. */
const AROUND_MS = 30_000;
const STOP_MS = 5_000;
const TIMED_OUT = 124;

/** `codex-exec`: one command in the sandbox it names, outside any thread. Nobody is asked. */
export function execTool(agent: Agent): ToolAction {
  return refusing(async (args, call) => {
    const { command, cwd, sandbox, timeoutMs = DEFAULT_TIMEOUT_MS } = parseArguments(args, ARGUMENTS);
    if (!command[0]) throw new InvalidArguments("`command` must begin with a program.");
    const settings = agent.settingsFor({ cwd, sandbox }, call.caller);
    const limits = agent.limitsOf(call.caller);
    const check = () => limits?.check(settings);
    check();
    await agent.checkCommand(command, settings);
    const asked = { argv: command, cwd: settings.cwd, sandboxPolicy: settings.sandboxPolicy, timeoutMs, check, reach: limits?.reach };
    const patience = { ms: timeoutMs + AROUND_MS, stopMs: STOP_MS };
    const result = await within(patience, call, async (signal) => (await servicesOf(agent)).runOnce(asked, signal));
    return answer(toRead(result), { ...result });
  });
}

/** As a terminal would have shown it. */
function toRead({ exitCode, stdout, stderr }: OneOffResult): string {
  const output = [stdout, stderr].map((text) => text.trimEnd()).filter((text) => text !== "");
  const why = exitCode === TIMED_OUT ? ": its time was up" : "";
  if (exitCode !== 0 || output.length === 0) output.push(`(exit code ${exitCode}${why})`);
  return output.join("\n");
}
