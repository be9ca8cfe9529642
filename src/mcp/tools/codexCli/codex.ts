import { AboveCeiling } from "../../../agent/errors.js";
import type { AskedSettings } from "../../../agent/grantedSettings.js";
import { SANDBOX_MODES, type SandboxMode } from "../../../exec/policies.js";
import type { SpokenTurn } from "../../../threads/namedSession.js";
import { givesStructured } from "../structuredSwitch.js";
import { arg, defineTool, type OutputSchema } from "../tool.js";
import { parseCliArguments } from "./cliArguments.js";
import { type CliTool, cliRefusal, cliTurn } from "./cliResults.js";

const EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh"] as const;
const OUTPUT: OutputSchema = { type: "object", properties: { threadId: { type: "string" } } };
const TOOL: CliTool = { name: "codex", attempt: "Failed to execute codex command" };

/** The environment variable that holds the callback URI for commands. */
const CALLBACK = "CODEX_MCP_CALLBACK_URI";

/** A task for the agent: on its own, or as the next turn of a named session. */
export const codexCliTool = defineTool({
  name: TOOL.name,
  title: "Execute Codex CLI",
  description:
    "Gives Codex, a coding agent, a task, and returns its answer. Nobody is asked for approval: the sandbox decides what it may do.",
  input: {
    prompt: arg.text("The task or question, self-contained."),
    sessionId: arg.optional(
      arg.text("A name of your choice (letters, digits, - and _). Calls with the same one go on with one conversation."),
    ),
    resetSession: arg.optional(arg.flag("Forget what was said in the session before.")),
    model: arg.optional(arg.text("Omit unless the user names one. One that is not offered is replaced, and the answer says so.")),
    reasoningEffort: arg.optional(arg.choice(EFFORTS, "How hard the model thinks.")),
    sandbox: arg.optional(
      arg.choice(
        SANDBOX_MODES,
        "What commands may touch: nothing is written, writes below the working directory, or everything. A session keeps its own.",
      ),
    ),
    fullAuto: arg.optional(arg.flag("Short for sandbox workspace-write, unless `sandbox` says otherwise.")),
    workingDirectory: arg.optional(arg.text("The folder to work in. A session keeps its own.")),
    callbackUri: arg.optional(arg.text(`Commands find it in ${CALLBACK}. Not over the network.`)),
  },
  output: OUTPUT,
  annotations: { title: "Execute Codex CLI", readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  sets: ["codex-cli"],
  order: 1,
  listsNothingRequired: true,
  ignoresUnknown: true,
  parse: parseCliArguments,
  refusal: cliRefusal(TOOL),
  answers: "the agent's last message; `_meta` of the text has `threadId`, `model`, `sessionId`, `callbackUri`",
  example: { prompt: "Why does the date test fail?", sessionId: "dates", sandbox: "read-only" },
  async call({ prompt, sessionId, resetSession = false, callbackUri, model, ...named }, context) {
    const { env, ask, sessions, agent, turnId } = context;
    if (callbackUri !== undefined && ask.caller)
      throw new AboveCeiling(
        `\`callbackUri\` is not accepted over the network, because it reaches the environment of commands. Start the server with ${CALLBACK} set.`,
      );
    const byDefault = env["CODEX_DEFAULT_MODEL"] || undefined;
    const asked = askedOf({ ...named, model, callbackUri });
    const forNewThread: AskedSettings = {
      approvalPolicy: "never",
      takesAnyModel: true,
      ...(byDefault !== undefined && { model: byDefault }),
    };
    const turn =
      sessionId === undefined
        ? await agent.begin(ask, { text: prompt }, { ...forNewThread, ...asked, turnId })
        : await sessions.turn(ask, {
            id: sessionId,
            prompt,
            reset: resetSession,
            asked,
            forNewThread,
            turnId,
            withoutThread: (recent) => withPast(recent, prompt),
          });
    const callback = callbackUri ?? (env[CALLBACK] || undefined);
    return {
      turn,
      startText: "Starting Codex execution...",
      present: cliTurn({
        ...TOOL,
        ifSilent: "No output from Codex",
        structured: givesStructured(env),
        model: model ?? (sessionId === undefined ? byDefault : undefined),
        members: ({ threadId, receipt }) => ({
          threadId,
          ...(receipt.inForce && { model: receipt.inForce.model }),
          ...(sessionId !== undefined && { sessionId }),
          ...(callback !== undefined && { callbackUri: callback }),
        }),
      }),
    };
  },
});

interface NamedByCall {
  readonly model: string | undefined;
  readonly reasoningEffort: (typeof EFFORTS)[number] | undefined;
  readonly sandbox: SandboxMode | undefined;
  readonly fullAuto: boolean | undefined;
  readonly workingDirectory: string | undefined;
  readonly callbackUri: string | undefined;
}

/** The settings that the call names. Settings that it does not name keep the session's values. */
function askedOf({ model, reasoningEffort, sandbox, fullAuto = false, workingDirectory, callbackUri }: NamedByCall): AskedSettings {
  const mode = sandbox ?? (fullAuto ? "workspace-write" : undefined);
  const config = {
    ...(reasoningEffort !== undefined && { model_reasoning_effort: reasoningEffort }),
    ...(callbackUri !== undefined && { [`shell_environment_policy.set.${CALLBACK}`]: callbackUri }),
  };
  return {
    ...(model !== undefined && { model, takesAnyModel: true }),
    ...(mode !== undefined && { sandbox: mode }),
    ...(workingDirectory !== undefined && { cwd: workingDirectory }),
    ...(Object.keys(config).length > 0 && { config }),
  };
}

const CODE = /function|def /;
const SHOWN_CODE = 200;
const SHOWN_ANSWER = 100;

/** The prompt for a new thread of a session whose thread no longer exists, in the wrapper's format. */
function withPast(recent: readonly SpokenTurn[], prompt: string): string {
  const lines = recent.map(({ prompt: asked, response }) =>
    CODE.test(response)
      ? `Previous code context: ${response.slice(0, SHOWN_CODE)}...`
      : `Context: ${asked} -> ${response.slice(0, SHOWN_ANSWER)}...`,
  );
  return `${lines.join("\n")}\n\nTask: ${prompt}`;
}
