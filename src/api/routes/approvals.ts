import { z } from "@hono/zod-openapi";
import type { Agent, Ask } from "../../agent/agent.js";
import { InvalidAnswer } from "../../agent/errors.js";
import type { ApprovalDecision, ApprovalRequest } from "../../approvals/model.js";
import { readPlainAnswer } from "../../approvals/plainAnswers.js";
import { type ApiParts, type ApiRequest, askOf } from "../base/apiParts.js";
import { AnsweredBefore, ApiProblem } from "../base/problems.js";
import { Settlement } from "../schemas/common.js";
import { AnswerBody, Approval, ApprovalList } from "../schemas/threads.js";
import { approvalView, openApprovals, settlementView } from "../timeline/views.js";
import { body, json, problems, routes, scoped } from "./route.js";

const ID = z.object({ approvalId: z.string().min(1).max(200) });

const LIST = scoped("read", {
  method: "get",
  path: "/approvals",
  operationId: "listApprovals",
  summary: "Open approval requests and forms, oldest first",
  request: { query: z.object({ threadId: z.uuid().optional() }) },
  responses: { 200: json(ApprovalList, "The open questions."), ...problems() },
});

const GET = scoped("read", {
  method: "get",
  path: "/approvals/{approvalId}",
  operationId: "getApproval",
  summary: "One question: open, or settled, with the decision and who made it",
  request: { params: ID },
  responses: {
    200: json(z.union([Approval, z.object({ id: z.string(), settlement: Settlement })]), "The question."),
    ...problems(404),
  },
});

const ANSWER = scoped("call", {
  method: "post",
  path: "/approvals/{approvalId}/answer",
  operationId: "answerApproval",
  summary: "Answers a question; the first answer wins",
  request: { params: ID, body: body(AnswerBody) },
  responses: {
    200: json(z.object({ id: z.string(), settlement: Settlement }).openapi("Settled"), "The question is settled."),
    ...problems(404, 409, 413, 415),
  },
});

export function approvalRoutes({ agent: open }: Pick<ApiParts, "agent">) {
  return routes()
    .openapi(LIST, async (c) => {
      const [agent, ask] = [await open(), askOf(c.env)];
      const { threadId: only } = c.req.valid("query");
      const approvals = await openApprovals(agent, ask);
      return c.json({ approvals: approvals.filter(({ threadId }) => only === undefined || threadId === only) }, 200);
    })
    .openapi(GET, async (c) => {
      const [agent, ask] = [await open(), askOf(c.env)];
      const { approvalId } = c.req.valid("param");
      const request = await openRequest(agent, ask, approvalId);
      if (request) return c.json(approvalView(agent, ask, request), 200);
      const settled = agent.settlementOf(ask, approvalId);
      if (!settled) throw notFound(approvalId);
      return c.json({ id: approvalId, settlement: settlementView(settled) }, 200);
    })
    .openapi(ANSWER, async (c) => {
      const [agent, ask] = [await open(), askOf(c.env)];
      const { approvalId } = c.req.valid("param");
      const given = c.req.valid("json");
      const request = await openRequest(agent, ask, approvalId);
      const by = isByBrowser(c.env) ? "console" : "http";
      const decision: ApprovalDecision | undefined = request && { ...decisionOf(request, given), by };
      if (!request || !decision || !(await agent.answer(ask, request.id, decision))) throw settledBefore(agent, ask, approvalId);
      const who = c.env.caller.principal;
      return c.json({ id: approvalId, settlement: { decision: decision.kind, by, who, at: new Date().toISOString() } as const }, 200);
    });
}

/** Browsers name the page that sends a request; without a token it is a page of our own, because access control refuses others. */
function isByBrowser({ viaConsole, incoming: { headers } }: ApiRequest): boolean {
  return viaConsole || (headers.authorization === undefined && headers.origin !== undefined);
}

async function openRequest(agent: Agent, ask: Ask, id: string): Promise<ApprovalRequest | undefined> {
  return (await agent.questions(ask)).find((request) => request.id === id);
}

function settledBefore(agent: Agent, ask: Ask, id: string): AnsweredBefore | ApiProblem {
  // A caller who may answer but not watch does not learn who else did.
  const settled = ask.caller?.scopes.includes("read") ? agent.settlementOf(ask, id) : undefined;
  if (!settled) return notFound(id);
  const settlement = settlementView(settled);
  const whom = settlement.who === null ? "" : ` by ${settlement.who}`;
  return new AnsweredBefore(`The question was settled before${whom} (${settlement.by}): ${settlement.decision}.`, settlement);
}

function notFound(id: string): ApiProblem {
  return new ApiProblem(
    "approval_not_found",
    `No question ${id.slice(0, 100)} is open: it was answered, its turn has ended, or it never existed.`,
  );
}

const FIELDS = { input: "`decision` answer with `content` or `text`", steering: "`POST /threads/{threadId}/steer`" };

/** Throws `InvalidAnswer` when the body does not answer this question. */
function decisionOf({ subject }: ApprovalRequest, { decision, reason, content, text }: z.infer<typeof AnswerBody>): ApprovalDecision {
  const read = readPlainAnswer(subject, { decision, reason, content, text }, FIELDS);
  if ("decision" in read) return read.decision;
  throw new InvalidAnswer(read.complaint, read.advice);
}
