import type { AppError } from "../../../lib/errors.js";
import type { CodexErrorInfo } from "../../../threads/events.js";
import type { CallToolResult, DraftResult, EndedTurn, PresentTurn } from "../../wording/callResult.js";
import { CliArgumentsInvalid } from "./cliArguments.js";

/** A tool of the set `codex-cli`, for its error messages. */
export interface CliTool {
  readonly name: string;
  /** The failed action: `Failed to execute codex command`. */
  readonly attempt: string;
}

type Members = Readonly<Record<string, unknown>>;

/** One text with its metadata. Programs find the metadata twice: in the text's `_meta`, as in the wrapper, and as structured content. */
export function cliAnswer(text: string, members: Members, { structured }: { readonly structured: boolean }): CallToolResult {
  return {
    content: [{ text, type: "text", _meta: members }],
    ...(structured && { structuredContent: members }),
  };
}

/** How a tool reports a failure before its turn starts. */
export function cliRefusal(tool: CliTool): (error: AppError) => DraftResult {
  return (error) => {
    const { name } = tool;
    const text = error instanceof CliArgumentsInvalid ? `Error in tool "${name}": ${error.message}` : failureText(tool, error);
    return { content: [{ text, type: "text" }], isError: true };
  };
}

export interface CliTurn extends CliTool {
  /** The text if the turn completes without a message. */
  readonly ifSilent: string;
  /** The metadata of the text. */
  readonly members: (ended: EndedTurn) => Members;
  readonly structured: boolean;
  /** The model that the call or the environment named. */
  readonly model?: string | undefined;
}

/** How a tool reports the end of its turn. */
export function cliTurn(turn: CliTurn): PresentTurn {
  return (ended) => {
    const { outcome, receipt, threadId } = ended;
    if (outcome.status !== "completed") {
      const cause =
        outcome.status === "failed"
          ? { message: outcome.message, info: receipt.failedAs, model: turn.model }
          : { message: "The turn was interrupted before it ended." };
      const failed: CallToolResult = { content: [{ text: failureText(turn, cause), type: "text" }], isError: true };
      return turn.structured ? { ...failed, structuredContent: { threadId } } : failed;
    }
    const answer = cliAnswer(outcome.lastMessage || turn.ifSilent, turn.members(ended), turn);
    const used = receipt.inForce?.model;
    if (turn.model === undefined || used === undefined || used === turn.model) return answer;
    const text = `The model \`${turn.model}\` is not offered: \`${used}\` was used in its place.`;
    return { ...answer, content: [...answer.content, { text, type: "text" }] };
  };
}

interface Cause {
  readonly message: string;
  readonly code?: string;
  readonly info?: CodexErrorInfo | undefined;
  readonly model?: string | undefined;
}

/** The wrapper's prefix, the failure in the words of its documentation, and the cause. */
function failureText({ name, attempt }: CliTool, cause: Cause): string {
  const why = cause.message.trim().replaceAll("`cwd`", "`workingDirectory`");
  return `Error in tool "${name}": Failed to execute tool "${name}": ${sentenceOn(cause) ?? attempt} (${why})`;
}

/** The wordings of Codex, of the native engine and of providers. */
const NO_LOGIN = /\b401\b|unauthori[sz]ed|not logged in|no api key|invalid api key|incorrect api key|missing environment variable/i;
const NO_MODEL = /does not offer the model|model_not_found/i;
const MODEL = /\bmodel\b/i;
const MISSING = /does not exist|not found|not supported|is not offered|unknown/i;

function sentenceOn({ message, code, info, model }: Cause): string | undefined {
  if (info === "unauthorized" || code === "codex_not_logged_in" || NO_LOGIN.test(message))
    return "Authentication failed: Please run `codex login`";
  if (model !== undefined && isAboutMissingModel(message)) return `Invalid model: ${model}`;
  return undefined;
}

function isAboutMissingModel(message: string): boolean {
  const isAboutIt = (line: string) => {
    const at = line.search(MODEL);
    return at >= 0 && MISSING.test(line.slice(at));
  };
  return NO_MODEL.test(message) || message.split("\n").some(isAboutIt);
}
