import type { Agent } from "../../agent/agent.js";
import type { ApprovalRequest } from "../../approvals/model.js";
import { type ClientInfo, clientProfile } from "../clientProfiles.js";
import type { ResultStyle } from "../wording/callResult.js";
import { type FormOptions, isAnsweredByItself, readDecision } from "../wording/elicitation.js";

export interface GivenAnswer {
  readonly request: ApprovalRequest;
  /** As the client sent it. */
  readonly answer: unknown;
  /** How long it took, from when the client got the question. */
  readonly afterMs: number;
}

/**
 * Takes a client's answer to a question, in either era. `asked nobody`: it was not a person's, and the client is not to be asked again; `left open`: nor
 * is the question decided, which is left to others. As recorded, every answer is a person's.
 */
export function takeAnswer(
  { request, answer, afterMs }: GivenAnswer,
  { agent, style }: { readonly agent: Pick<Agent, "decide" | "answeredByNobody">; readonly style: ResultStyle },
): "taken" | "asked nobody" | "left open" {
  if (style !== "recorded" && isAnsweredByItself(answer, afterMs)) return agent.answeredByNobody(request) ? "left open" : "asked nobody";
  agent.decide(request.id, { ...readDecision(answer, request.subject.kind, style), by: "elicitation" });
  return "taken";
}

/** The form in which a client is asked: one that a person can submit there. */
export function formFor(
  client: ClientInfo | undefined,
  { emptyForms, style }: { readonly emptyForms: boolean; readonly style: ResultStyle },
): FormOptions {
  return { emptyForm: emptyForms || clientProfile(client).form === "empty", explains: style !== "recorded" };
}
