import type { Agent, Ask } from "../../agent/agent.js";
import { InvalidArguments, QuestionSettled } from "../../agent/errors.js";
import type { ApprovalDecision, ApprovalRequest } from "../../approvals/model.js";
import { isFields } from "../../lib/fields.js";
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
    decision: arg.optional(
      arg.choice(["approve", "approve-for-session", "deny", "abort"], "`abort` also ends the turn. Not for questions that need text."),
    ),
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

interface Given {
  readonly decision: "approve" | "approve-for-session" | "deny" | "abort" | undefined;
  readonly reason: string | undefined;
  readonly text: string | undefined;
}

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

/** Throws `InvalidArguments` if the arguments do not answer this question. */
function decisionOf({ subject }: ApprovalRequest, { decision, reason, text }: Given): ApprovalDecision {
  if (subject.kind === "form" && text !== undefined) return { kind: "answered", content: contentOf(text, subject.requestedSchema) };
  switch (decision) {
    case "approve":
    case "approve-for-session":
      if (subject.kind === "form")
        throw new InvalidArguments(
          `This question needs a text answer: give \`text\` (${fieldsOf(subject.requestedSchema).join(", ")}), or \`decision\` deny.`,
        );
      return { kind: decision === "approve" ? "approved" : "approvedForSession" };
    case "deny":
      return { kind: "denied", ...(reason?.trim() && { reason: reason.trim() }) };
    case "abort":
      return { kind: "abort" };
    case undefined:
      throw new InvalidArguments(
        subject.kind === "form"
          ? "Give `text`, or `decision` deny or abort."
          : "Give `decision`: approve, approve-for-session, deny or abort.",
      );
  }
}

function fieldsOf(schema: Readonly<Record<string, unknown>>): readonly string[] {
  return isFields(schema["properties"]) ? Object.keys(schema["properties"]) : [];
}

/** A form with one field takes the text as it is; one with several takes a JSON object. The asking server validates the content. */
function contentOf(text: string, schema: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const fields = fieldsOf(schema);
  const parsed = parsedObject(text);
  if (parsed && Object.keys(parsed).every((name) => fields.includes(name))) return parsed;
  const [only, ...others] = fields;
  if (only !== undefined && others.length === 0) return { [only]: text };
  throw new InvalidArguments(`This question has the fields ${fields.join(", ")}: give \`text\` as a JSON object with them.`);
}

function parsedObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
