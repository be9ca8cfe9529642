import type { Agent, Ask } from "../../agent/agent.js";
import { InvalidAnswer, QuestionSettled } from "../../agent/errors.js";
import type { ApprovalDecision, ApprovalRequest } from "../../approvals/model.js";
import { type PlainAnswer, readPlainAnswer } from "../../approvals/plainAnswers.js";
import { questionLine } from "../wording/activity.js";
import { answer } from "../wording/callResult.js";
import { wayText } from "../wording/turnReport.js";
import { arg, defineTool } from "./tool.js";

/** Answers a turn's question where the client cannot show it to a person. */
export const answerTool = defineTool({
  name: "codex-answer",
  title: "Codex Answer",
  description:
    "Answers a question that a running turn waits for; ids are in results with status `running` and in codex-threads. Ask the user first. " +
    "Then call codex-wait. The first answer decides.",
  input: {
    id: arg.text("The question's id."),
    decision: arg.optional(arg.choice(["approve", "approve-for-session", "deny", "abort"], "`abort` also ends the turn.")),
    reason: arg.optional(arg.text("With `deny`: what the agent should do instead.")),
    text: arg.optional(arg.text("The answer to a question that needs text; several fields as a JSON object.")),
  },
  output: {
    type: "object",
    properties: { threadId: { type: "string" }, content: { type: "string" }, id: { type: "string" }, decision: { type: "string" } },
    required: ["threadId", "content", "id", "decision"],
  },
  sets: ["codex"],
  order: 7,
  answers: "a confirmation; the effect shows in the result of the turn",
  example: { id: "3f1c2a52-7f0e-4f5c-9d0f-0a4a2f7f6a11", decision: "deny", reason: "Use the test database." },
  async call({ id, ...given }, { agent, ask }) {
    const open = await agent.questions(ask);
    const request = open.find((question) => question.id === id);
    if (!request) throw settled(agent, ask, { id, open });
    const decision = decisionOf(request, given);
    await settle(agent, ask, { request, decision });
    const { threadId } = request;
    const effect =
      decision.kind === "abort"
        ? `The turn of thread ${threadId} ends; codex-wait returns what it has done.`
        : `Thread ${threadId} goes on; wait for it with codex-wait.`;
    const content = `Answered: ${WORDS[decision.kind]}. ${effect}`;
    return answer(content, { threadId, content, id, decision: WORDS[decision.kind] });
  },
});

const WORDS: Readonly<Record<ApprovalDecision["kind"], string>> = {
  approved: "approved",
  approvedForSession: "approved for the session",
  approvedPrefix: "approved",
  denied: "denied",
  answered: "answered",
  abort: "aborted",
};

interface Settlement {
  readonly request: ApprovalRequest;
  readonly decision: ApprovalDecision;
}

/** Another client may have answered first. */
async function settle(agent: Agent, ask: Ask, { request, decision }: Settlement): Promise<void> {
  if (await agent.answer(ask, request.id, { ...decision, by: "tool" })) return;
  throw settled(agent, ask, { id: request.id, open: await agent.questions(ask) });
}

function settled(
  agent: Agent,
  ask: Ask,
  { id, open }: { readonly id: string; readonly open: readonly ApprovalRequest[] },
): QuestionSettled {
  const answered = agent.settlementOf(ask, id);
  const how = answered && {
    threadId: answered.threadId,
    text: `it was ${WORDS[answered.decision]} ${wayText(answered.by)}`,
  };
  return new QuestionSettled(id, { open: open.map(openLine), how });
}

function openLine(request: ApprovalRequest): string {
  return `${request.id} (thread ${request.threadId}): ${questionLine(request)}`;
}

const ARGUMENTS = { input: "`text`", steering: "codex-steer" };

/** Throws `InvalidAnswer` if the arguments do not answer this question. */
function decisionOf({ subject }: ApprovalRequest, given: PlainAnswer): ApprovalDecision {
  const read = readPlainAnswer(subject, given, ARGUMENTS);
  if ("decision" in read) return read.decision;
  const { complaint, advice, fields } = read;
  throw new InvalidAnswer(complaint, fields.length === 0 ? advice : [`${advice} The fields are:`, ...fields].join("\n"));
}
