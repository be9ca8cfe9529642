import { type Fields, withoutUndefined } from "../lib/fields.js";
import { contentOfConsent, contentOfFields, contentOfText, type FormContent, fieldLines } from "./forms.js";
import type { ApprovalDecision, ApprovalSubject } from "./model.js";

/** An answer in the words of `codex-answer`, of the HTTP API and of the console. */
export interface PlainAnswer {
  /** `answer`, or none: what is given beside it fills in a form. */
  readonly decision: "approve" | "approve-for-session" | "deny" | "abort" | "answer" | undefined;
  readonly reason: string | undefined;
  /** The value of a form's only field, or all of its fields as a JSON object. Beside a denial it is the reason. */
  readonly text: string | undefined;
  /** The fields of a form. */
  readonly content?: Fields | undefined;
}

/** How a channel names what an error asks for. */
export interface AnswerWords {
  /** What fills in a form. */
  readonly input: string;
  /** What tells the running turn more. */
  readonly steering: string;
}

/** `advice`: how to answer this question. `fields`: one line for each field of its form. */
export type ReadAnswer =
  | { readonly decision: ApprovalDecision }
  | { readonly complaint: string; readonly advice: string; readonly fields: readonly string[] };

/** The decision that an answer means, or why it does not answer this question. */
export function readPlainAnswer(subject: ApprovalSubject, given: PlainAnswer, words: AnswerWords): ReadAnswer {
  const { decision } = given;
  const text = given.text?.trim() ? given.text : undefined;
  switch (decision) {
    case "deny":
      return { decision: { kind: "denied", ...withoutUndefined({ reason: given.reason?.trim() || text?.trim() || undefined }) } };
    case "abort":
      return { decision: { kind: "abort" } };
    case "approve":
    case "approve-for-session":
    case "answer":
    case undefined:
      return subject.kind === "form"
        ? filledIn(subject.requestedSchema, { ...given, text }, words)
        : consentTo({ ...given, decision, text }, words);
  }
}

function filledIn(schema: Fields, { decision, text, content }: PlainAnswer, { input }: AnswerWords): ReadAnswer {
  const consent = contentOfConsent(schema);
  const given = contentIn({ text, content }, schema);
  const form = given ?? consent;
  if ("content" in form && (given !== undefined || decision === "approve"))
    return { decision: { kind: "answered", content: form.content } };
  const fields = fieldLines(schema);
  const decisions = "content" in consent ? "approve, deny or abort" : "deny or abort";
  const advice = fields.length === 0 ? `Give \`decision\`: ${decisions}.` : `Give ${input}, or \`decision\` ${decisions}.`;
  const isConsent = given === undefined && decision !== "approve";
  return { complaint: "content" in form || isConsent ? "This question asks for input." : form.complaint, advice, fields };
}

/** What an answer fills in, or why it does not fit; undefined if it fills in nothing. */
function contentIn({ text, content }: Pick<PlainAnswer, "text" | "content">, schema: Fields): FormContent | undefined {
  if (content === undefined) return text === undefined ? undefined : contentOfText(text, schema);
  return text === undefined ? contentOfFields(content, schema) : { complaint: "The form is filled in twice: give `content` or `text`." };
}

type Consent = Omit<PlainAnswer, "decision"> & { readonly decision: "approve" | "approve-for-session" | "answer" | undefined };

function consentTo({ decision, text, content }: Consent, { steering }: AnswerWords): ReadAnswer {
  const advice = "Give `decision`: approve, approve-for-session, deny or abort.";
  if (decision === "answer" || decision === undefined) return { complaint: "This question asks for a decision.", advice, fields: [] };
  if (text !== undefined || content !== undefined) {
    const complaint = `This question takes no ${content === undefined ? "`text`" : "`content`"}.`;
    return { complaint, advice: `Answer without it; ${steering} tells the running turn more.`, fields: [] };
  }
  return { decision: { kind: decision === "approve" ? "approved" : "approvedForSession" } };
}
