import type { Agent } from "../../agent/agent.js";
import type { ApprovalRequest } from "../../approvals/model.js";
import { type ClientInfo, clientProfile } from "../clientProfiles.js";
import type { ResultStyle } from "../wording/callResult.js";
import { type FormOptions, isAnsweredByItself, readDecision } from "../wording/elicitation.js";

export interface GivenAnswer {
  readonly request: ApprovalRequest;
  /** As the client sent it. */
  readonly answer: unknown;
  /** Time since the client got the question. */
  readonly afterMs: number;
}

/**
 * Applies a client's answer to a question, in either era. `unasked`: the client answered without a person and must not be asked again.
 * `left-open`: in addition, the question is not decided and stays open for others. In the recorded style every answer counts as a person's.
 */
export function takeAnswer(
  { request, answer, afterMs }: GivenAnswer,
  { agent, style }: { readonly agent: Pick<Agent, "decide" | "answeredByNobody">; readonly style: ResultStyle },
): "taken" | "unasked" | "left-open" {
  if (style !== "recorded" && isAnsweredByItself(answer, afterMs)) return agent.answeredByNobody(request) ? "left-open" : "unasked";
  agent.decide(request.id, { ...readDecision(answer, request.subject, style), by: "elicitation" });
  return "taken";
}

/** The form in which to ask a client, so that a person can submit it there. */
export function formFor(
  client: ClientInfo | undefined,
  { emptyForms, style }: { readonly emptyForms: boolean; readonly style: ResultStyle },
): FormOptions {
  const recordedMessage = style === "recorded";
  return { emptyForm: emptyForms || clientProfile(client).form === "empty", explains: !recordedMessage, recordedMessage };
}
