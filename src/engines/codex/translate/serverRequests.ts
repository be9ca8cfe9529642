import type { ApprovalDecision } from "../../../approvals/model.js";
import { commandQuestion } from "./commandQuestion.js";
import { mcpQuestion } from "./mcpQuestion.js";
import { patchQuestion } from "./patchQuestion.js";
import { permissionQuestion } from "./permissionQuestion.js";
import type { Question, QuestionContext, ServerReaction } from "./question.js";
import { fieldsOf } from "./read.js";
import { userQuestion } from "./userQuestion.js";

interface Refused {
  readonly refused: string;
}

const OLD = { refused: "only threads of the older protocol ask this way" };

/** Every request of app-server 0.166.0: who is asked, or why it is refused. */
export const SERVER_REQUESTS: ReadonlyMap<string, Question | Refused> = new Map<string, Question | Refused>([
  ["item/commandExecution/requestApproval", commandQuestion],
  ["item/fileChange/requestApproval", patchQuestion],
  ["item/permissions/requestApproval", permissionQuestion],
  ["item/tool/requestUserInput", userQuestion],
  ["mcpServer/elicitation/request", mcpQuestion],
  ["item/tool/call", { refused: "no tools were declared to the model" }],
  ["account/chatgptAuthTokens/refresh", { refused: "the login is Codex's own" }],
  ["attestation/generate", { refused: "attestation was not offered" }],
  ["currentTime/read", { refused: "a clock was not offered" }],
  ["applyPatchApproval", OLD],
  ["execCommandApproval", OLD],
]);

/** What a request of the app-server means for whoever follows the turn. */
export function serverRequest(method: string, params: unknown, context: QuestionContext): ServerReaction {
  const known = SERVER_REQUESTS.get(method);
  if (known === undefined) return { kind: "refuse", message: `${method} is not known here` };
  return "refused" in known ? { kind: "refuse", message: known.refused } : known.read(fieldsOf(params), context);
}

/** The result that tells the app-server how its question was decided. */
export function approvalAnswer(method: string, params: unknown, decision: ApprovalDecision): unknown {
  const known = SERVER_REQUESTS.get(method);
  if (known === undefined || "refused" in known) throw new Error(`${method} asks nobody`);
  return known.answer(decision, fieldsOf(params));
}
